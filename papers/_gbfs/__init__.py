"""The experiments of the paper on gradient boosted feature selection, one file each."""
