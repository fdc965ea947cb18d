"""The console: the service's pages for people.

- `graph`: which part of a program is drawn around what is chosen, and where each thing stands.
- `views`: what the pages show, as values.
- `acts`: what people do there: approve, reject, start, stop, pause, roll back; each with a record of who.
- `pages`: the requests. `templates/` has the pages, `static/` one style sheet and one script.

Pages are made here, whole, and work without the script. That one only asks for a page again when something has changed,
and puts the new text in the place of the old.
"""
