// Package filter parses a job file's filter and decides which records of an input to use. Its language:
//
//	filter     = and { "or" and }
//	and        = not { "and" not }
//	not        = "not" not | "(" filter ")" | condition
//	condition  = operand ( "=" | "!=" | "<>" | "<" | "<=" | ">" | ">=" ) operand
//	           | operand "is" [ "not" ] "null"
//	           | operand [ "not" ] "in" "(" literal { "," literal } ")"
//	           | operand [ "not" ] "like" text
//	           | operand [ "not" ] "starts_with" text
//	operand    = column | literal
//	literal    = text | number | "true" | "false"
//
// As in row keys, a column is a name, or any text in backticks. A text is in single or double quotes, with the escapes
// of row keys. Words may be in upper or lower case. The declared types decide how operands are compared: as numbers if
// one side is a number, as dates and timestamps if one side is one, likewise for true and false, otherwise as text,
// byte by byte in UTF-8.
//
// As in SQL, a comparison with a null is neither true nor false, and the same holds for its negation. A record is used
// only if the whole filter is true.
package filter
