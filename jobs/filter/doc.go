// Package filter decides which records of an input are wanted: the language of a job file's filter.
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
// A column is a name, or any text in backticks, as in row keys; a text stands in single or double quotes, with the row
// keys' escapes; words are known in upper and lower case. What is compared follows from the declared types: numbers where
// one side is a number, dates and moments where one is one, true and false likewise, else text, byte by byte in UTF-8.
//
// As in SQL, a comparison with a null is neither true nor false, nor is "not" of it, and a record is wanted where the
// whole is true.
package filter
