"""Networks that grow: units and connections come in one by one."""
