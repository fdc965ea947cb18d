"""Every permanent code, in one place: code → short title. docs/errors.md explains each (a test compares the two).

Letters: M manifest (YAML), S SQL statements, P program (names, types, cycles), C connectors, A approval and apply,
G registry, X engine and execution, U usage and set-up, H hazards of a plan. A code is never reused or given another
meaning; one that is no longer issued stays here, its title starting with "(retired)".
"""

from typing import Final

_MANIFEST: Final = {
    "M100": "the pipeline's files have errors",
    "M101": "the file can't be read as YAML",
    "M102": "a key is given twice",
    "M103": "the file exceeds a limit",
    "M104": "a YAML tag is not allowed",
    "M105": "more than one YAML document",
    "M106": "the file says nothing",
    "M107": "a key is not a plain text",
    "M108": "a number is ambiguous or can't be kept",
    "M110": "unknown key",
    "M111": "a key is missing",
    "M112": "a value has the wrong type",
    "M113": "a value is not one of those allowed",
    "M114": "a text has not the form that is needed",
    "M115": "a number is out of range",
    "M116": "a list or mapping has too few, too many or repeated entries",
    "M120": "not supported by this version",
    "M121": "pipeline.yaml is missing",
    "M122": "the pipeline's name differs from its folder's",
    "M123": "a file of spec.sql is missing",
    "M124": "a file of spec.sql lies outside the pipeline's folder",
    "M125": "the pipeline has no SQL",
    "M126": "settings for a relation that is not declared",
    "M127": "table settings for a view, or view settings for a table",
    "M128": "settings for one relation are given twice",
    "M129": "a connector names neither a table nor a view, or both",
    "M130": "a Spark setting is not the pipeline's to set",
    "M140": "the default environment is not declared",
    "M160": "a function's definition is missing",
    "M161": "a function is defined twice",
    "M162": "a Python file can't be read",
    "M163": "a function's definition does not fit its declaration",
    "M164": "an import that is not known",
    "M165": "an import that can't be followed",
    "M166": "settings for a function that is not declared",
    "M167": "requirements of a function in SQL",
}

_SQL: Final[dict[str, str]] = {
    "S201": "text that can't be read",
    "S202": "unknown kind of statement",
    "S203": "a statement is not well formed",
    "S204": "unknown property",
    "S205": "a property's value is wrong",
    "S206": "connectors hold no valid JSON",
    "S207": "connectors have the wrong shape",
    "S208": "unknown type",
    "S209": "a column is declared twice",
    "S210": "the primary key is wrong",
    "S211": "not a name",
    "S212": "not supported by this version",
    "S213": "a view's query is not one SELECT",
    "S214": "a query can't be parsed",
    "S215": "templates and parameters are not expanded",
    "S216": "not allowed in a query",
    "S220": "unknown relation in a query",
    "S221": "unknown column in a query",
    "S222": "ambiguous column",
    "S223": "two output columns have one name",
    "S224": "an output column needs a name",
    "S225": "the view's column list does not fit its query",
    "S226": "set operation over different numbers of columns",
    "S227": "an aggregate function in WHERE",
    "S228": "a column is neither grouped nor aggregated",
    "S229": "types do not fit",
    "S230": "wrong number of arguments",
    "S231": "unknown function",
    "S240": "not one SELECT",
    "S241": "not one INSERT or DELETE",
    "S250": "a function has a name of Spark's",
    "S251": "a function's body is not one value",
}

_PROGRAM: Final[dict[str, str]] = {
    "P301": "two relations have one name",
    "P302": "a reserved name",
    "P303": "relations read each other in a circle",
    "P304": "a view reads itself",
    "P305": "a connector of an unknown relation",
    "P306": "a connector of the wrong direction",
    "P307": "two connectors of one relation have one name",
    "P308": "a connector without a name",
    "P309": "start_after names an unknown label",
    "P310": "connectors start after each other in a circle",
    "P311": "a LOCAL view has a connector",
    "P320": "two functions have one name",
    "P321": "functions call each other in a circle",
}

_CONNECTORS: Final[dict[str, str]] = {
    "C401": "unknown transport",
    "C402": "a transport of the wrong direction",
    "C403": "unknown connector setting",
    "C404": "a connector setting is missing",
    "C405": "a connector setting has the wrong type",
    "C406": "a connector setting is not one of those allowed",
    "C407": "a connector setting has not the form that is needed",
    "C408": "a number in a connector is out of range",
    "C409": "a list in a connector has too few, too many or repeated entries",
    "C410": "not supported by this version",
    "C411": "planned and validated, but not run by this version",
    "C412": "a secret is written in clear text",
    "C413": "unknown variable",
    "C414": "a reference is malformed",
    "C415": "a format for a transport that takes none",
    "C416": "settings that exclude each other",
    "C417": "a setting that the SQL statement gives already",
}

_APPROVAL_AND_APPLY: Final = {
    "A501": "the plan awaits approval",
    "A502": "the plan is rejected by bootstrap_policy",
    "A503": "another process holds the pipeline",
    "A504": "that digest is not the plan's",
    "A505": "data stands where a new relation would",
    "A506": "the pipeline is not applied",
    "A507": "an apply is not finished",
}

_REGISTRY: Final = {
    "G601": "a part of the registry is missing",
    "G602": "a part of the registry can't be read",
    "G603": "the registry can't be written",
    "G604": "somebody else wrote the registry meanwhile",
    "G605": "somebody else wrote the table meanwhile",
    "G606": "the registry is newer than this version",
}

_EXECUTION: Final[dict[str, str]] = {
    "X700": "Spark failed",
    "X701": "the engine is closed",
    "X702": "Spark did not start",
    "X703": "Spark refused a query",
    "X704": "a view's columns can't be stored",
    "X705": "a view names another number of columns than its query gives",
    "X706": "a view's column has no type",
    "X707": "Spark's process ended",
    "X708": "a function failed",
    "X710": "an input does not exist",
    "X711": "a file changed after it was read",
    "X712": "a value does not fit its column",
    "X713": "a NULL in a NOT NULL column",
    "X714": "an input file is malformed",
    "X715": "a secret is not set",
    "X716": "a connector asks for what the engine can't do",
    "X720": "a statement is malformed",
    "X721": "a table is missing from storage",
    "X722": "a statement names what it can't read or write",
    "X723": "a step was refused and put back",
    "X730": "a Delta version that is needed is gone",
}

_USAGE: Final[dict[str, str]] = {
    "U801": "no Java",
    "U802": "a Java that can't run Spark",
    "U803": "Spark's jars are missing",
    "U804": "the Python package pyspark is missing",
    "U805": "a jar can't be fetched",
    "U806": "a jar is not the one that is expected",
    "U811": "no repository",
    "U812": "no such pipeline",
    "U813": "a file can't be read",
    "U814": "no such environment",
    "U890": "an unexpected error",
    "U815": "the warehouse is no folder",
}

_HAZARDS: Final = {
    "H901": "a table and its rows are removed",
    "H902": "a table's rows are deleted",
    "H903": "a view is removed",
    "H904": "a connector reads again into a table that keeps its rows",
    "H905": "a sink keeps rows of the old contents",
    "H906": "everything is removed",
}

CODES: Final[dict[str, str]] = (
    _MANIFEST | _SQL | _PROGRAM | _CONNECTORS | _APPROVAL_AND_APPLY | _REGISTRY | _EXECUTION | _USAGE | _HAZARDS
)
