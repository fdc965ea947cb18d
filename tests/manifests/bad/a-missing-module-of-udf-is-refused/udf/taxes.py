from .rats import RATE
import lib.rats

def tax(x):
    return x * RATE
