// Package filter decides which records of an input to use: the language of a job file's filter.
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
// A column is a name, or any text in backticks, as in row keys; a text is in single or double quotes, with the
// escapes of row keys; words may be in upper or lower case. The declared types decide how operands are compared: as
// numbers if one side is a number, as dates and timestamps if one side is one, likewise for true and false, otherwise
// as text, byte by byte in UTF-8.
//
// As in SQL, a comparison with a null is neither true nor false, nor is "not" of it, and a record is used if the
// whole is true.
package filter
