from lib.rates import RATE


def tax(amount):
    return amount * RATE
