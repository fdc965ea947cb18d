"""What is secret, and how it is kept out of all that is shown.

`redaction` is what others call: it says what of a setting's value may be shown, and masks credentials within texts. Whether
a text holds one is found by the name before it (`names`), by what it looks like (`credentials`), by what SQL or Python sets
a secret name to (`said`, `set_values`, `listed_values`, `call_values`, `option_lists`, over `code_parts`), and by value,
where this process has resolved the secret (`known_values`).

Unknown means secret: a value is shown where something says that it may be. The command line masks once more whatever it
prints (`cli.output`).
"""
