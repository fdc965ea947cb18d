import numpy as np

def tax(x):
    return np.abs(x)
