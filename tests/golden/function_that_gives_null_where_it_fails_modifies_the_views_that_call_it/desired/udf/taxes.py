def tax(amount):
    return amount / 5
