"""Parts of the paper on the zero-norm."""
