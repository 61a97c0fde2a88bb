package page

import (
	"fmt"
	"math"

	"bulkload/internal/bytesize"
)

// The size of a chart, in the units of its view box.
const (
	chartWidth  = 720
	chartHeight = 252
	chartLeft   = 64 // for the numbers of the axis
	chartBottom = 46 // for the names below the bars, and their axis title
	chartTop    = 30 // for the title of the numbers
	rowHeight   = 26
	nameWidth   = 200
	letterWidth = 6.5
	leastHeight = 2 // of a bar whose value is not 0
)

// Chart is a picture of bars.
type Chart struct {
	Title, Says   string // the title, and the point that the chart makes
	Width, Height float64
	Bars          []Bar
	Legend        []Bar // a mark of each colour with its name, if bars are too small for their names
	Ticks         []Tick
	Times         []Tick // of an axis below the bars
	Lines         []Line
	Left, Base    float64
	Axis          Axis

	top float64 // of the axis
}

// Axis has the titles of the numbers at the left of a chart and of the names below it, with their units.
type Axis struct{ Y, X string }

// Bar is a rectangle with its name and value. Class selects its colour.
type Bar struct {
	X, Y, Width, Height float64
	Name, Value         string // Name is beside it, or in its tooltip with Value
	NameX, NameY        float64
	Anchor, Class       string
	Hidden              bool // its name is only in the tooltip
}

// Tick is a line across the chart with a number at its end.
type Tick struct {
	X, Y float64
	Text string
}

// Line is a marked value.
type Line struct {
	X1, Y1, X2, Y2 float64
	Text           string
	TextX, TextY   float64
}

// Value is the value of a bar.
type Value struct {
	Name  string
	Size  float64
	Class string // of its colour: one to five, or hot
	More  string // for the tooltip
}

// Scale says how the values of an axis are shown, and which steps its ticks may have.
type Scale struct {
	Step func(least float64) float64
	Show func(float64) string
}

// The scales of numbers and of bytes.
var (
	OfCounts = Scale{roundStep, func(n float64) string { return Count(int64(n)) }}
	OfBytes  = Scale{byteStep, func(n float64) string { return bytesize.Format(int64(n)) }}
)

// Columns draws vertical bars, with an axis that has a scale.
func Columns(title, says string, axis Axis, values []Value, of Scale) *Chart {
	c := &Chart{Title: title, Says: says, Axis: axis, Width: chartWidth, Height: chartHeight, Left: chartLeft,
		Base: chartHeight - chartBottom}
	c.ticks(values, of)
	each := float64(chartWidth-chartLeft) / math.Max(float64(len(values)), 1)
	gap := each * 0.15
	longest := 0
	for _, v := range values {
		longest = max(longest, len([]rune(v.Name)))
	}
	nth := max(int(math.Ceil(float64(longest+1)*letterWidth/each)), 1)
	for i, v := range values {
		shown := of.Show(v.Size)
		if v.More != "" {
			shown += ", " + v.More
		}
		y := c.y(v.Size)
		if v.Size > 0 {
			y = math.Min(y, c.Base-leastHeight)
		}
		c.Bars = append(c.Bars, Bar{X: c.Left + float64(i)*each + gap/2, Y: y, Width: each - gap, Height: c.Base - y,
			Name: v.Name, Value: shown, Class: v.Class,
			NameX: c.nameX(c.Left+(float64(i)+0.5)*each, v.Name), NameY: c.Base + 16, Anchor: "middle", Hidden: i%nth != 0})
	}
	return c
}

// ticks makes the axis at the left.
func (c *Chart) ticks(values []Value, of Scale) {
	most := 0.0
	for _, v := range values {
		most = math.Max(most, v.Size)
	}
	step := of.Step(most / 4)
	for c.top = 0; c.top < most; c.top += step {
		c.Ticks = append(c.Ticks, Tick{Text: of.Show(c.top)})
	}
	c.Ticks = append(c.Ticks, Tick{Text: of.Show(c.top)})
	for i := range c.Ticks {
		c.Ticks[i].Y = c.y(float64(i) * step)
	}
}

// nameX moves a name that is centred at x to the left, just far enough to stay within the chart.
func (c *Chart) nameX(x float64, name string) float64 {
	return math.Min(x, c.Width-float64(len([]rune(name)))*letterWidth/2)
}

func (c *Chart) y(size float64) float64 {
	if c.top == 0 {
		return c.Base
	}
	return c.Base - (c.Base-chartTop)*size/c.top
}

// Mark marks a value with a line.
func (c *Chart) Mark(size float64, text string) {
	y := c.y(size)
	c.Lines = append(c.Lines, Line{c.Left, y, c.Width, y, text, c.Width - 4, y - 5})
}

// MostBars bounds the regions in a chart.
const MostBars = 120

// Regions draws a bar for each region with its bytes of HFiles, in the order of the table, and marks the mean. Bars
// above hot times the mean have another colour. skew is the ratio of the largest to the mean. If there are very many
// regions, only the largest are drawn.
func Regions(values []Value, skew, hot float64) *Chart {
	says := fmt.Sprintf("Largest region / mean: %.2f.", skew)
	mean := 0.0
	for _, v := range values {
		mean += v.Size / float64(len(values))
	}
	if more := len(values) - MostBars; more > 0 {
		values = Largest(values, MostBars, func(v Value) float64 { return v.Size })
		says += fmt.Sprintf(" Only the %d largest regions are drawn, in their order; %s are smaller.",
			MostBars, Count(int64(more)))
	}
	drawn := make([]Value, len(values))
	for i, v := range values {
		if v.Class = "one"; v.Size > hot*mean {
			v.Class = "hot"
		}
		v.Name = shorten(v.Name, 8)
		drawn[i] = v
	}
	c := Columns("HFile bytes per region", says, Axis{"size", "first row of the region"}, drawn, OfBytes)
	c.Mark(mean, "mean")
	return c
}

// Rows draws horizontal bars, each with its name at the left.
func Rows(title, says string, values []Value, show func(float64) string) *Chart {
	c := &Chart{Title: title, Says: says, Width: chartWidth, Height: float64(len(values)*rowHeight + 8), Left: nameWidth}
	most := 0.0
	for _, v := range values {
		most = math.Max(most, v.Size)
	}
	for i, v := range values {
		y := float64(i*rowHeight) + 4
		width := (chartWidth - nameWidth - 90) * v.Size / math.Max(most, 1e-9)
		c.Bars = append(c.Bars, Bar{X: nameWidth, Y: y, Width: width, Height: rowHeight - 8, Name: shorten(v.Name, 28),
			Value: show(v.Size), Class: v.Class,
			NameX: nameWidth - 8, NameY: y + 13, Anchor: "end"})
	}
	c.Base = c.Height
	return c
}

// Span is a stage that took time.
type Span struct {
	Name     string
	From, To float64 // seconds
	Class    string
	More     string // for the tooltip
}

// Timeline draws each span at its time, from 0 to all seconds.
func Timeline(title, says string, spans []Span, all float64) *Chart {
	c := &Chart{Title: title, Says: says, Width: chartWidth, Height: float64(len(spans)*rowHeight + 32), Left: nameWidth,
		Base: float64(len(spans)*rowHeight + 8)}
	for _, s := range spans {
		all = math.Max(all, s.To)
	}
	const width = chartWidth - nameWidth - 60
	at := func(seconds float64) float64 { return nameWidth + width*seconds/math.Max(all, 1e-9) }
	if step := roundStep(all / 5); step > 0 {
		for t := 0.0; t <= all*1.001; t += step {
			c.Times = append(c.Times, Tick{X: at(t), Text: axisSeconds(t, step)})
		}
	}
	for i, s := range spans {
		y := float64(i*rowHeight) + 4
		c.Bars = append(c.Bars, Bar{X: at(s.From), Y: y, Width: math.Max(at(s.To)-at(s.From), 1),
			Height: rowHeight - 8, Name: shorten(s.Name, 28),
			Value: axisSeconds(s.To-s.From, (s.To-s.From)/10) + s.More, Class: s.Class, NameX: nameWidth - 8,
			NameY: y + 13, Anchor: "end"})
	}
	return c
}

// axisSeconds formats a time of an axis with as many digits as its step needs.
func axisSeconds(seconds, step float64) string {
	if step >= 10 || step <= 0 {
		return Duration(seconds)
	}
	digits := min(max(0, int(math.Ceil(-math.Log10(step)))), 3)
	return fmt.Sprintf("%.*f s", digits, seconds)
}

// Stack draws one bar made of all values, whose sizes show formats.
func Stack(title, says string, values []Value, show func(float64) string) *Chart {
	c := &Chart{Title: title, Says: says, Width: chartWidth, Height: 64, Base: 40}
	all := 0.0
	for _, v := range values {
		all += v.Size
	}
	x, key := 0.0, 0.0
	for _, v := range values {
		width := chartWidth * v.Size / math.Max(all, 1e-9)
		text := fmt.Sprintf("%s %.0f%%", v.Name, 100*v.Size/math.Max(all, 1e-9))
		c.Bars = append(c.Bars, Bar{X: x, Y: 4, Width: width, Height: 36, Name: text, Value: show(v.Size), Class: v.Class,
			NameX: x + width/2, NameY: 58, Anchor: "middle", Hidden: true})
		c.Legend = append(c.Legend, Bar{X: key, Y: 50, Width: 9, Height: 9, Name: text,
			NameX: key + 14, NameY: 58, Class: v.Class})
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

// roundStep is the smallest of 1, 2 or 5 times a power of ten that is at least n.
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

// byteStep is a power of two of at least n, so that ticks are whole or half units.
func byteStep(n float64) float64 {
	if n <= 0 {
		return 0
	}
	return math.Exp2(math.Ceil(math.Log2(n * 0.999)))
}
