import importlib

def tax(x):
    a = 'ä'; m = importlib.import_module('rates' + a)
    n = __import__('rates')
    return eval('x')
