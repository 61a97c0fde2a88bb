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

// openAPI describes the queries as OpenAPI 3.1. It is made of maps, because of a document of this size a library would
// only add its types.
func openAPI(all []*query, s *Settings) ([]byte, error) {
	paths := object{}
	schemas := object{
		"Error": object{"type": "object", "required": []string{"error"}, "properties": object{"error": object{"type": "object",
			"required": []string{"code", "message"}, "properties": object{"code": object{"type": "string"}, "message": object{"type": "string"}}}}},
		"Bytes": object{"type": "object", "description": "A value that is not UTF-8.", "required": []string{"base64"},
			"properties": object{"base64": object{"type": "string", "contentEncoding": "base64"}}},
		"Raw": object{"type": "object", "description": "With raw=1.", "required": []string{"row", "cells"}, "properties": object{
			"row": object{"type": "string", "description": "The row key; bytes that are not printable as \\xNN."},
			"cells": object{"type": "array", "items": object{"type": "object", "properties": object{"family": object{"type": "string"},
				"qualifier": object{"type": "string"}, "timestamp": object{"type": "integer"}, "value": object{"type": "string"},
				"type": object{"type": "string"}, "value_base64": object{"type": "string"}}}}}},
	}
	for _, q := range all {
		schemas[q.name] = rowSchema(q.names)
		paths["/get/"+q.name] = object{"get": q.operation(s)}
	}
	d := object{"openapi": "3.1.0",
		"info": object{"title": "bulkload serve", "version": program.ThisBuild().Version,
			"description": "Look-ups of rows in HBase tables by the values of their query columns."},
		"paths": paths, "components": object{"schemas": schemas}}
	if s.TokenFile != "" {
		d["components"].(object)["securitySchemes"] = object{"token": object{"type": "http", "scheme": "bearer"}}
		d["security"] = []object{{"token": []string{}}}
	}
	return json.MarshalIndent(d, "", " ")
}

// operation describes a query.
func (q *query) operation(s *Settings) object {
	j := q.finder.Job
	var all []object
	add := func(name, about string, required bool, schema object) {
		all = append(all, object{"name": name, "in": "query", "description": about, "required": required, "schema": schema})
	}
	for _, column := range j.Query {
		add(column, "The value of column "+column+".", true, object{"type": "string"})
	}
	add("limit", "The number of rows in the answer, at most.", false,
		object{"type": "integer", "minimum": 1, "maximum": s.MaxRows, "default": s.Rows})
	if column := lookup.OrderingOf(j); column != "" {
		add("since", "The first value of column "+column+", as exactly as the row key has it.", false, object{"type": "string"})
		add("until", "The end of the values of column "+column+": the first that is not wanted.", false, object{"type": "string"})
		add("order", "By column "+column+"; without it, in the order of the row keys.", false,
			object{"type": "string", "enum": orders[1:]})
	}
	add("raw", "1: the cells with their timestamps instead of named values.", false, object{"type": "string", "enum": []string{"1"}})
	add("after", "The next of the answer before, for the rows that follow.", false, object{"type": "string"})
	row := object{"$ref": "#/components/schemas/" + q.name}
	answers := object{"200": object{"description": "The rows.", "content": jsonOf(object{"type": "object",
		"required": []string{"rows", "next"}, "properties": object{
			"rows": object{"type": "array", "items": object{"anyOf": []object{row, {"$ref": "#/components/schemas/Raw"}}}},
			"next": object{"type": []string{"string", "null"}, "description": "The token for the rows that follow; null: there are none."}}})}}
	for status, about := range map[string]string{"400": "A parameter is missing, unknown or wrong.", "401": "The token is missing or wrong.",
		"413": "A row is too large.", "500": "The table or its files can't be read.", "503": "Too many requests, or HBase is down: try again.",
		"504": "No answer in time."} {
		answers[status] = object{"description": about, "content": jsonOf(object{"$ref": "#/components/schemas/Error"})}
	}
	return object{"operationId": q.name, "responses": answers, "parameters": all,
		"description": fmt.Sprintf("Rows of table %s by %s.", j.Table, strings.Join(j.Query, " and "))}
}

func jsonOf(schema object) object { return object{"application/json": object{"schema": schema}} }

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
		columns[c.Name] = object{"anyOf": []object{{"type": types}, {"$ref": "#/components/schemas/Bytes"}}}
	}
	return object{"type": "object", "properties": columns}
}
