# What the state gets.
def tax(amount):
    return amount / 5  # a fifth
