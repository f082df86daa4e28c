"""Zero-norm machines: AROM, FSV, the l1 support vector machine."""
