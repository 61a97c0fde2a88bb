package siteconf

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"bulkload/internal/errcode"
)

const xinclude = "http://www.w3.org/2001/XInclude"

// parse reads one site file. source is its name in errors and properties.
func parse(r io.Reader, source string) ([]property, error) {
	p := &parser{xml: xml.NewDecoder(r), source: source}
	p.xml.CharsetReader = latin1
	if err := p.file(); err != nil {
		line, _ := p.xml.InputPos()
		var syntax *xml.SyntaxError
		if errors.As(err, &syntax) { // err itself names its line
			return nil, errcode.SiteRead.Errorf("parse site file %s:%d: %s", source, syntax.Line, syntax.Msg)
		}
		return nil, errcode.SiteRead.Errorf("parse site file %s:%d: %w", source, line, err)
	}
	return p.found, nil
}

type parser struct {
	xml    *xml.Decoder
	source string
	found  []property
}

func (p *parser) file() error {
	root, err := p.start()
	if err == io.EOF {
		return errors.New("no <configuration> in it")
	}
	if err != nil {
		return err
	}
	if root.Name.Local != "configuration" {
		return fmt.Errorf("the root element is <%s>, not <configuration>", root.Name.Local)
	}
	if err := p.children(func(child xml.StartElement) error {
		if child.Name.Local == "property" {
			return p.property(child)
		}
		return p.xml.Skip()
	}); err != nil {
		return err
	}
	if more, err := p.start(); err == nil {
		return fmt.Errorf("<%s> behind </configuration>", more.Name.Local)
	} else if err != io.EOF {
		return err
	}
	return nil
}

// start skips to the next start tag; io.EOF if there is none.
func (p *parser) start() (xml.StartElement, error) {
	for {
		token, err := p.xml.Token()
		if err != nil {
			return xml.StartElement{}, err
		}
		if start, ok := token.(xml.StartElement); ok {
			return start, refuse(start)
		}
	}
}

// children visits the elements up to the end of the current one; visit must consume each of them.
func (p *parser) children(visit func(xml.StartElement) error) error {
	for {
		token, err := p.xml.Token()
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.EndElement:
			return nil
		case xml.StartElement:
			if err := refuse(token); err != nil {
				return err
			}
			if err := visit(token); err != nil {
				return err
			}
		}
	}
}

func refuse(e xml.StartElement) error {
	if e.Name.Space == xinclude || e.Name.Space == "xi" {
		return fmt.Errorf("<%s> (XInclude) is not supported: put the included properties into the file", e.Name.Local)
	}
	return nil
}

func (p *parser) property(element xml.StartElement) error {
	parts := make(map[string]string)
	for _, a := range element.Attr {
		parts[a.Name.Local] = a.Value
	}
	err := p.children(func(child xml.StartElement) error {
		text, err := p.text()
		if err == nil {
			parts[child.Name.Local] = text
		}
		return err
	})
	if err != nil {
		return err
	}
	name := strings.TrimSpace(parts["name"])
	if name == "" {
		return errors.New("a <property> without a <name>")
	}
	if value, ok := parts["value"]; ok { // Hadoop, too, ignores a property without a value
		final := strings.TrimSpace(parts["final"]) == "true"
		p.found = append(p.found, property{name: name, value: value, source: p.source, final: final})
	}
	return nil
}

// text is the character data up to the end of the current element.
func (p *parser) text() (string, error) {
	var b strings.Builder
	for {
		token, err := p.xml.Token()
		if err != nil {
			return "", err
		}
		switch token := token.(type) {
		case xml.CharData:
			b.Write(token)
		case xml.StartElement:
			if err := refuse(token); err != nil {
				return "", err
			}
			return "", fmt.Errorf("<%s> inside of a text", token.Name.Local)
		case xml.EndElement:
			return b.String(), nil
		}
	}
}

// latin1 reads the two other encodings that occur in site files.
func latin1(charset string, input io.Reader) (io.Reader, error) {
	switch strings.ToLower(charset) {
	case "us-ascii", "ascii":
		return input, nil
	case "iso-8859-1", "latin1":
		bytes, err := io.ReadAll(input)
		runes := make([]rune, len(bytes))
		for i, b := range bytes {
			runes[i] = rune(b)
		}
		return strings.NewReader(string(runes)), err
	}
	return nil, fmt.Errorf("encoding %q is not supported, write it as UTF-8", charset)
}
