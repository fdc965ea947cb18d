from ..other import RATE

def tax(x):
    return x * RATE
