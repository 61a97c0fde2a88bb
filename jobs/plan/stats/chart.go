package stats

import (
	"fmt"
	"math"
)

// The size of a chart, in the units of its view box.
const (
	chartWidth  = 720
	chartHeight = 220
	chartLeft   = 64 // for the numbers of the axis
	chartBottom = 28 // for the names below the bars
	chartTop    = 16
	rowHeight   = 26
	nameWidth   = 200
	letterWidth = 6.5
	leastHeight = 2 // of a bar whose value is not 0
)

// Chart is a picture of bars.
type Chart struct {
	Title, Says   string // the title, and what to notice
	Width, Height float64
	Bars          []Bar
	Legend        []Bar // a mark of each colour with its name, if the bars are too small for theirs
	Ticks         []Tick
	Lines         []Line
	Left, Base    float64

	top float64 // of the axis
}

// Bar is a rectangle with its name and value. Class selects its colour.
type Bar struct {
	X, Y, Width, Height float64
	Name, Value         string // Name is beside it, or in its tooltip with Value
	NameX, NameY        float64
	Anchor, Class       string
	Hidden              bool // its name is only in the tooltip
}

// Tick is a line across the chart with a number at its left.
type Tick struct {
	Y    float64
	Text string
}

// Line is a marked value.
type Line struct {
	X1, Y1, X2, Y2 float64
	Text           string
	TextX, TextY   float64
}

// value is the value of a bar.
type value struct {
	name  string
	size  float64
	class string
	more  string // for the tooltip
}

// scale is how the values of an axis are shown, and which steps its ticks may have.
type scale struct {
	step func(least float64) float64
	show func(float64) string
}

var (
	ofCounts = scale{roundStep, func(n float64) string { return Count(int64(n)) }}
	ofBytes  = scale{byteStep, func(n float64) string { return Size(int64(n)) }}
)

// columns draws vertical bars, with an axis of a scale.
func columns(title, says string, values []value, of scale) *Chart {
	c := &Chart{Title: title, Says: says, Width: chartWidth, Height: chartHeight, Left: chartLeft, Base: chartHeight - chartBottom}
	most := 0.0
	for _, v := range values {
		most = math.Max(most, v.size)
	}
	step := of.step(most / 4)
	for c.top = 0; c.top < most; c.top += step {
		c.Ticks = append(c.Ticks, Tick{Text: of.show(c.top)})
	}
	c.Ticks = append(c.Ticks, Tick{Text: of.show(c.top)})
	for i := range c.Ticks {
		c.Ticks[i].Y = c.y(float64(i) * step)
	}
	each := float64(chartWidth-chartLeft) / math.Max(float64(len(values)), 1)
	gap := each * 0.15
	longest := 0
	for _, v := range values {
		longest = max(longest, len([]rune(v.name)))
	}
	nth := max(int(math.Ceil(float64(longest+1)*letterWidth/each)), 1)
	for i, v := range values {
		shown := of.show(v.size)
		if v.more != "" {
			shown += ", " + v.more
		}
		y := c.y(v.size)
		if v.size > 0 {
			y = math.Min(y, c.Base-leastHeight)
		}
		c.Bars = append(c.Bars, Bar{X: c.Left + float64(i)*each + gap/2, Y: y, Width: each - gap, Height: c.Base - y, Name: v.name, Value: shown, Class: v.class,
			NameX: c.nameX(c.Left+(float64(i)+0.5)*each, v.name), NameY: c.Base + 16, Anchor: "middle", Hidden: i%nth != 0})
	}
	return c
}

// nameX moves a name that is centred at x to the left, as far as necessary to stay within the chart.
func (c *Chart) nameX(x float64, name string) float64 {
	return math.Min(x, c.Width-float64(len([]rune(name)))*letterWidth/2)
}

func (c *Chart) y(size float64) float64 {
	if c.top == 0 {
		return c.Base
	}
	return c.Base - (c.Base-chartTop)*size/c.top
}

// across marks a value with a line.
func (c *Chart) across(size float64, text string) {
	y := c.y(size)
	c.Lines = append(c.Lines, Line{c.Left, y, c.Width, y, text, c.Width - 4, y - 5})
}

// rows draws horizontal bars, each with its name at the left.
func rows(title, says string, values []value, show func(float64) string) *Chart {
	c := &Chart{Title: title, Says: says, Width: chartWidth, Height: float64(len(values)*rowHeight + 8), Left: nameWidth}
	most := 0.0
	for _, v := range values {
		most = math.Max(most, v.size)
	}
	for i, v := range values {
		y := float64(i*rowHeight) + 4
		width := (chartWidth - nameWidth - 90) * v.size / math.Max(most, 1e-9)
		c.Bars = append(c.Bars, Bar{X: nameWidth, Y: y, Width: width, Height: rowHeight - 8, Name: shorten(v.name, 28), Value: show(v.size), Class: v.class,
			NameX: nameWidth - 8, NameY: y + 13, Anchor: "end"})
	}
	c.Base = c.Height
	return c
}

// stack draws one bar made of all values.
func stack(title, says string, values []value) *Chart {
	c := &Chart{Title: title, Says: says, Width: chartWidth, Height: 64, Base: 40}
	all := 0.0
	for _, v := range values {
		all += v.size
	}
	x, key := 0.0, 0.0
	for _, v := range values {
		width := chartWidth * v.size / math.Max(all, 1e-9)
		text := fmt.Sprintf("%s %.0f%%", v.name, 100*v.size/math.Max(all, 1e-9))
		c.Bars = append(c.Bars, Bar{X: x, Y: 4, Width: width, Height: 36, Name: text, Value: Size(int64(v.size)), Class: v.class,
			NameX: x + width/2, NameY: 58, Anchor: "middle", Hidden: true})
		c.Legend = append(c.Legend, Bar{X: key, Y: 50, Width: 9, Height: 9, Name: text, NameX: key + 14, NameY: 58, Class: v.class})
		x += width
		key += 30 + letterWidth*float64(len(text))
	}
	return c
}

func shorten(text string, most int) string {
	r := []rune(text)
	if len(r) <= most {
		return text
	}
	return string(r[:most-1]) + "…"
}

// roundStep is 1, 2 or 5 times a power of ten, n at least.
func roundStep(n float64) float64 {
	if n <= 0 {
		return 0
	}
	power := math.Pow(10, math.Floor(math.Log10(n)))
	for _, factor := range []float64{1, 2, 5, 10} {
		if factor*power >= n*0.999 {
			return factor * power
		}
	}
	return 10 * power
}

// byteStep is a power of two, n at least: so that ticks are whole or half units.
func byteStep(n float64) float64 {
	if n <= 0 {
		return 0
	}
	return math.Exp2(math.Ceil(math.Log2(n * 0.999)))
}
