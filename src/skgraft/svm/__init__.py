"""Support vector machines and linear programs that the zero-norm methods and the rankings stand on."""
