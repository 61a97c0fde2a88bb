package serve

import (
	"encoding/json"
	"fmt"
	"strings"

	"bulkload/internal/program"
	"bulkload/jobs/inspect/lookup"
	"bulkload/values"
)

// object is a part of an OpenAPI document.
type object map[string]any

// fields is the schema of an object with fields, all of which it must have.
func fields(required []string, of object) object {
	return object{"type": "object", "required": required, "properties": of}
}

func list(of object) object { return object{"type": "array", "items": of} }

func ref(name string) object { return object{"$ref": "#/components/schemas/" + name} }

func jsonOf(schema object) object { return object{"application/json": object{"schema": schema}} }

var (
	text    = object{"type": "string"}
	integer = object{"type": "integer"}
	only1   = object{"type": "string", "enum": []string{"1"}}
)

// refused says what the statuses of refused requests mean.
var refused = map[string]string{
	"400": "A parameter is missing, unknown or wrong.",
	"401": "The token is missing or wrong.",
	"413": "A row, or the rows of the answer together, are too large.",
	"500": "The table or its files can't be read.",
	"503": "Too many requests, or HBase is down: try again.",
	"504": "No answer in time.",
}

// openAPI describes the queries as OpenAPI 3.1. It is made of maps, because for a document of this size a library would
// only add its types.
func openAPI(all []*query, s *Settings) ([]byte, error) {
	paths := object{}
	schemas := object{
		"Error": fields([]string{"error"}, object{"error": fields([]string{"code", "message"},
			object{"code": text, "message": text})}),
		"Bytes": fields([]string{"base64"}, object{"base64": object{"type": "string", "contentEncoding": "base64"}}),
		"Raw": fields([]string{"row", "cells"}, object{"row": text, "cells": list(fields(
			[]string{"family", "qualifier", "timestamp", "value"}, object{"family": text, "qualifier": text,
				"timestamp": integer, "value": text, "type": text, "value_base64": text}))}),
	}
	for _, q := range all {
		schemas["Row."+q.name] = rowSchema(q.names)
		paths["/get/"+q.name] = object{"get": q.operation(s)}
	}
	components := object{"schemas": schemas}
	d := object{"openapi": "3.1.0", "paths": paths, "components": components,
		"info": object{"title": "bulkload serve", "version": program.ThisBuild().Version,
			"description": "Look-ups of rows in HBase tables by the values of their query columns."}}
	if s.TokenFile != "" {
		components["securitySchemes"] = object{"token": object{"type": "http", "scheme": "bearer"}}
		d["security"] = []object{{"token": []string{}}}
	}
	return json.MarshalIndent(d, "", " ")
}

// operation describes a query.
func (q *query) operation(s *Settings) object {
	j := q.finder.Job
	var parameters []object
	add := func(name, about string, required bool, schema object) {
		parameters = append(parameters,
			object{"name": name, "in": "query", "description": about, "required": required, "schema": schema})
	}
	for _, column := range j.Query {
		add(column, "The value of column "+column+".", true, text)
	}
	add("limit", "The number of rows in the answer, at most.", false,
		object{"type": "integer", "minimum": 1, "maximum": s.MaxRows, "default": s.Rows})
	if column := lookup.OrderingOf(j); column != "" {
		add("since", "The first value of column "+column+", as exactly as the row key has it.", false, text)
		add("until", "The end of the values of column "+column+": the first that is not wanted.", false, text)
		add("order", "By column "+column+"; without it, in the order of the row keys.", false,
			object{"type": "string", "enum": orders[1:]})
	}
	add("raw", "1: the cells with their timestamps instead of named values.", false, only1)
	add("after", "The next of the answer before, for the rows that follow.", false, text)
	answers := object{"200": object{"description": "The rows.", "content": jsonOf(fields([]string{"rows", "next"}, object{
		"rows": list(object{"anyOf": []object{ref("Row." + q.name), ref("Raw")}}),
		"next": object{"type": []string{"string", "null"},
			"description": "The token for the rows that follow; null: there are none."}}))}}
	for status, about := range refused {
		answers[status] = object{"description": about, "content": jsonOf(ref("Error"))}
	}
	return object{"operationId": q.name, "responses": answers, "parameters": parameters,
		"description": fmt.Sprintf("Rows of table %s by %s.", j.Table, strings.Join(j.Query, " and "))}
}

// rowSchema describes the named values of a row.
func rowSchema(names *lookup.Names) object {
	columns := object{}
	for _, c := range names.Columns() {
		types := []string{"string"}
		switch kind := c.Type.Kind; {
		case kind.Number():
			types = []string{"number", "string"}
		case kind == values.KindBoolean:
			types = []string{"boolean", "string"}
		}
		columns[c.Name] = object{"anyOf": []object{{"type": types}, ref("Bytes")}}
	}
	return object{"type": "object", "properties": columns}
}
