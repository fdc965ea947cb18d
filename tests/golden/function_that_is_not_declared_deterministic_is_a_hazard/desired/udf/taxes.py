def tax(amount):
    return amount / 4
