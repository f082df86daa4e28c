"""What the paper states: its data sets, its prices, and those of its results that it gives in words or numbers.

The curves of its figures 3 to 7 are printed there without values; none are guessed here.
"""

from collections.abc import Mapping

CITATION = (
    "Z. Xu, G. Huang, K.Q. Weinberger and A.X. Zheng, Gradient Boosted Feature Selection, Proceedings of the 20th ACM "
    "SIGKDD Conference on Knowledge Discovery and Data Mining, 522-531, 2014"
)

# Section 5.3: the trade-off parameter of equation 7, in which half a reduction of squared error is compared with it
MUS = tuple(2.0**power for power in (-3, -2, -1, 0, 1, 2, 3, 5, 7, 9))
LEARNING_RATE = 0.1
TREES = 2000
SPLITS = 5
FOREST = 2000
FOREST_LEAF = 20

# Table 1: rows for training and for the test, features
SIZES: Mapping[str, tuple[int, int, int]] = {
    "pcmac": (1555, 388, 3289),
    "uspst": (1606, 401, 256),
    "spam": (3681, 920, 57),
    "isolet": (6238, 1559, 617),
    "mnist 3 against 8": (11982, 1984, 784),
    "adult": (32562, 16282, 123),
    "kddcup99": (4898431, 311029, 122),
}

# Section 5.3: on which data sets of figure 3 these methods could be run
COULD_RUN = {"mRMR": ("uspst",), "HSIC lasso": ("uspst", "spam")}

# Section 5.1: test error of the toy, and which of x, y and z are used
TOY_ERROR = {"GBFS": 0.0, "L1-LR": 0.5405}
TOY_FEATURES = {"GBFS": "x, y", "L1-LR": "y"}

# Section 5.2: test error on colon, mean of ten splits; the paper's bags are not to be had
COLON_ERROR = {"GBFS": 0.1538, "RF-FS": 0.1538, "L1-LR": 0.1769, "HSIC lasso": 0.2185, "group lasso": 0.3615}
BAGS = 9
COLON_SPLITS = 10

# Section 5.3: what the text says of figures 3 to 7
SAYS = (
    "GBFS and RF-FS err less than L1-LR on every data set of figure 3.",
    "On every data set of figure 3 GBFS matches RF-FS or errs less.",
    "On kddcup99 GBFS errs less than RF-FS and L1-LR where few features are selected.",
    "On six further pairs of digits GBFS matches RF-FS and errs less than L1-LR.",
    "An RBF SVM on few features errs least with those of GBFS; with more all methods come close, L1-LR slightly ahead.",
)
