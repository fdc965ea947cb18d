import numpy

def tax(x):
    return x
