from lib.rates import RATE

def tax(x):
    return x * RATE
