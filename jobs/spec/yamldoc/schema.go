package yamldoc

import (
	"encoding/json"
	"strings"
	"unicode"
)

// object is a JSON object; encoding/json sorts its keys.
type object = map[string]any

// JSON returns a JSON schema of job files (draft 7), as editors for YAML use it. It accepts every job file that the
// decoder accepts, and refuses unknown keys, missing keys and values of a wrong kind. The decoder checks more: columns,
// row keys, and what belongs together.
func JSON() ([]byte, error) {
	text, err := json.MarshalIndent(schema(), "", "  ")
	return append(text, '\n'), err
}

func schema() object {
	s := mapping(Top, Output, Common)
	s["$schema"] = "http://json-schema.org/draft-07/schema#"
	s["title"] = "bulkload job file"
	s["if"] = object{"required": []string{"outputs"}}
	several, one := none(Names(Output)), required("input", "table", "rowkey", "regions", "output")
	several["required"] = []string{"input"}
	several["anyOf"] = []object{required("regions"),
		{"properties": object{"outputs": object{"items": required("regions")}}}}
	s["then"], s["else"] = unlessIncluded(several), unlessIncluded(one)
	s["allOf"] = []object{unlessIncluded(complete())}
	return s
}

// unlessIncluded requires keys of a job file without include: an included file may have them.
func unlessIncluded(keys object) object {
	return object{"if": required("include"), "else": keys}
}

// complete requires the keys of sections.
func complete() object {
	return object{"properties": object{
		"input":   required("path", "columns"),
		"hbase":   object{"properties": object{"kerberos": required(Names(Kerberos)...)}},
		"regions": completeRegions(),
		"wide":    required("qualifier"),
	}}
}

func required(names ...string) object { return object{"required": names} }

// none forbids keys.
func none(names []string) object {
	properties := object{}
	for _, name := range names {
		properties[name] = false
	}
	return object{"properties": properties}
}

// mapping accepts mappings with these keys and no others.
func mapping(lists ...[]Key) object {
	properties := object{}
	for _, list := range lists {
		for _, key := range list {
			value := key.schema()
			value["description"] = key.Means
			properties[key.Name] = value
		}
	}
	return object{"type": "object", "properties": properties, "additionalProperties": false}
}

var scalar = []string{"string", "number", "boolean"}

// variablePattern matches a text with a variable, whose value the schema can't know.
const variablePattern = `\$\{`

func (k *Key) schema() object {
	texts := object{"type": "array", "items": object{"type": scalar}}
	switch k.Kind {
	case Texts:
		return texts
	case SomeText:
		return object{"anyOf": []object{{"type": scalar}, texts}}
	case NullText:
		nullable := append([]string{"null"}, scalar...)
		return object{"anyOf": []object{{"type": nullable},
			{"type": "array", "items": object{"type": nullable}, "minItems": 1}}}
	case Flag:
		return object{"anyOf": []object{{"type": "boolean"}, {"type": "string", "pattern": variablePattern}}}
	case Number:
		return object{"anyOf": []object{{"type": "integer", "minimum": 1},
			{"type": "string", "pattern": `^[0-9]+$|` + variablePattern}}}
	case Size:
		return object{"anyOf": []object{{"type": "number", "exclusiveMinimum": 0},
			{"type": "string", "pattern": `^[0-9.eE+]+ *([KMGT]iB|[kKMGT]B|B)?$|` + variablePattern}}}
	case Choice, AnyCase:
		return k.choice()
	case Mapping:
		return k.section()
	case Mappings:
		return object{"type": "array", "items": requireAll(mapping(k.Fixed), k.Fixed)}
	case Columns:
		return columns()
	case Outputs:
		table := mapping(Output, Common)
		table["required"] = []string{"table", "rowkey", "output"}
		table["allOf"] = []object{{"properties": object{"regions": completeRegions(), "wide": required("qualifier")}}}
		return object{"type": "array", "items": table, "minItems": 1}
	}
	return object{"type": scalar}
}

func (k *Key) choice() object {
	of := []object{{"enum": k.Choice}, {"type": "string", "pattern": variablePattern}}
	for _, name := range k.Choice {
		if k.Kind == AnyCase {
			of = append(of, object{"type": "string", "pattern": "^" + anyCase(name) + "$"})
		} else if name == "null" { // without quotes it is YAML's null
			of = append(of, object{"type": "null"})
		}
	}
	if k.Fixed != nil {
		of = append(of, mapping(k.Fixed))
	}
	return object{"anyOf": of}
}

// anyCase returns a pattern for a name in upper and lower case, because patterns of JSON schemas have no flag for that.
func anyCase(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsLetter(r) {
			b.WriteString("[" + string(r) + string(unicode.ToUpper(r)) + "]")
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// section accepts a mapping with fixed keys.
func (k *Key) section() object {
	if k.Name == "input" {
		return input()
	}
	return mapping(k.Fixed)
}

func requireAll(s object, keys []Key) object {
	s["required"] = Names(keys)
	return s
}

// completeRegions requires splits or file if from names it, and neither otherwise.
func completeRegions() object {
	s := required("from")
	neither := none([]string{"splits", "file"})
	s["allOf"] = []object{
		{"if": isConst("from", "splits"), "then": object{"required": []string{"splits"},
			"properties": object{"file": false}}},
		{"if": isConst("from", "file"), "then": object{"required": []string{"file"}, "properties": object{"splits": false}}},
		{"if": isConst("from", "table"), "then": neither},
		{"if": isConst("from", "plan"), "then": neither},
	}
	return s
}

// isConst accepts mappings in which a key has a value.
func isConst(key, value string) object {
	return object{"properties": object{key: object{"const": value}}, "required": []string{key}}
}

// input accepts the section input, with the keys of its format.
func input() object {
	s := mapping(Input, Parquet, CSV, Delimited)
	s["if"], s["then"] = isConst("format", "csv"), onlyKeys(CSV)
	delimited := object{"if": object{"properties": object{"format": object{"const": "delimited"}}},
		"then": onlyKeys(Delimited)}
	s["else"] = object{"if": isConst("format", "parquet"), "then": onlyKeys(Parquet), "else": delimited}
	return s
}

func onlyKeys(format []Key) object {
	return object{"propertyNames": object{"enum": Names(Input, format)}}
}

// columns accepts columns_map. A rule with the key constant is that of a constant.
func columns() object {
	constant := mapping(Constant)
	constant["required"] = []string{"constant"}
	return object{"type": "object", "additionalProperties": object{"if": required("constant"),
		"then": constant, "else": mapping(Column)}}
}
