package library_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/library"
)

const intro = `<!-- Written by go generate ./rubric/library from the rubrics; do not edit. -->

# The library of rubrics

Margay comes with a rubric for each of twelve categories of tasks. A rubric says which fields are secret, who needs them, what is shown of them instead, and what that tells, in bits. This page is written from the rubrics themselves, and a test holds it to them. [rubrics.md](rubrics.md) says how to write one's own, [format/rubric.md](format/rubric.md) has the format.

## How they are made

- **They are drafts by people who do not know your trade as you do.** Read the one that you use: populations, levels and needs are in its text, each with the reason. Change it and publish it under your own key.
- **Names of categories are names of actions.** A tool that is labelled with the action ` + "`payments`" + ` falls under the rubric of that name. Where an action belongs to two of them, only what both admit may be done.
- **All of them know all fields**, also those that never belong there: a password in a chart is noticed, and nobody gets it. <!-- test: TestFieldsAreAlike, TestCuriousSinks -->
- **A field means the same in all of them**: population and levels are the same, so a year of birth disclosed to one recipient counts when another gets the decade.
- **Populations are large on purpose**: mailboxes of the world, dwellings of the countries that are listed, days of 110 years. What is too large costs utility, what is too small would lie. The source of each number is beside it, in words; they are orders of magnitude.
- **A value outside of its population is shown to nobody**: an income of 350,000 or more, a birth before 1920, a name of one word.
- **Required services get what their trade must have, and no more.** Curious sinks get at most 4 bits a task, in medicine 4.25: one age band, or one country, or one chapter of diagnoses; besides, pseudonyms. Adversarial ones get pseudonyms and fixed phrases.
- **Dates count as births** where words say so or the year is before 2010. A recent date alone is an appointment.
- **Free text** passes where an argument is made for it and nothing is found in it, but never to adversarial sinks. <!-- test: TestHeadOfPage -->

Bits are those of the worst value for the Bayes-optimal adversary. *Needs* says what must survive for services that are required and for curious ones; where nothing is said, the least that is useful is shown.

## What fields cost

The same in every rubric. <!-- test: TestFieldsAreAlike --> Levels are in bits, from the finest to the coarsest.

`

// page is docs/rubric-library.md: for each rubric what it is for, its fields,
// what each class of sinks may get of them and why, and its limits.
func page() (string, error) {
	var b strings.Builder
	b.WriteString(intro)
	files := library.All()
	rules := make([]*rubric.Rubric, len(files))
	for i := range files {
		var err error
		if rules[i], err = library.Rubric(files[i].Name); err != nil {
			return "", err
		}
	}
	costs(&b, rules)
	for i, r := range rules {
		one(&b, r, files[i].Text)
	}
	return b.String(), nil
}

// costs is the table of all fields with their levels.
func costs(b *strings.Builder, rules []*rubric.Rubric) {
	b.WriteString("| field | as it is | levels |\n|---|---|---|\n")
	lines := map[string]bool{}
	for _, r := range rules {
		all := rubric.Combine(r)
		for _, field := range all.Fields() {
			var levels []string
			for i, name := range r.LevelNames(field) {
				levels = append(levels, name+" "+bits(all.Cost(field, rubric.Op{Kind: rubric.Generalize, Level: i + 1})))
			}
			lines[fmt.Sprintf("| %s | %s | %s |\n", field, bits(all.Cost(field, rubric.Op{Kind: rubric.Identity})), strings.Join(levels, ", "))] = true
		}
	}
	var sorted []string
	for l := range lines {
		sorted = append(sorted, l)
	}
	slices.Sort(sorted)
	b.WriteString(strings.Join(sorted, ""))
}

// one is a rubric's part of the page.
func one(b *strings.Builder, r *rubric.Rubric, text string) {
	all := rubric.Combine(r)
	fmt.Fprintf(b, "\n## %s\n\n%s. %s Actions: `%s`.\n\n", r.Name(), r.Title(), purpose(text), strings.Join(r.Signature().Actions, "`, `"))
	l := all.Limits()
	fmt.Fprintf(b, "Budget %s bits; caps %s, %s and %s; weights %s, %s and %s; margin %s. %s\n\n", bits(l.B), bits(l.Cap[1]), bits(l.Cap[2]), bits(l.Cap[3]),
		weight(l.Lambda[1]), weight(l.Lambda[2]), weight(l.Lambda[3]), bits(l.Margin), comments(section(text, "limits")))
	b.WriteString("| field | required services | needs | curious sinks | needs | adversarial | why |\n|---|---|---|---|---|---|---|\n")
	reasons := Reasons(text)
	for _, field := range all.Fields() {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s |\n", field,
			display(r, all, field, flow.RequiredService), needed(r, all, field, flow.RequiredService),
			display(r, all, field, flow.SemiTrusted), needed(r, all, field, flow.SemiTrusted),
			display(r, all, field, flow.Adversarial), strings.ReplaceAll(reasons[field], "|", `\|`))
	}
}

// display is what may be shown of a field besides nothing.
func display(r *rubric.Rubric, all *rubric.Resolved, field string, class flow.Class) string {
	var out []string
	for _, op := range all.Operators(field, class) {
		switch op.Kind {
		case rubric.Substitute:
			out = append(out, op.Template)
		case rubric.Generalize:
			out = append(out, r.LevelNames(field)[op.Level-1])
		case rubric.Identity:
			out = append(out, "**as it is**")
		}
	}
	slices.Reverse(out)
	return strings.Join(out, ", ")
}

// needed is a field's necessity, and the level that must survive.
func needed(r *rubric.Rubric, all *rubric.Resolved, field string, class flow.Class) string {
	n := all.Necessity(field, class)
	if n == rubric.Unnecessary {
		return ""
	}
	for _, u := range all.Utility(class) {
		if u.Field == field && u.Level > 0 {
			return n.String() + ": " + r.LevelNames(field)[u.Level-1]
		} else if u.Field == field {
			return n.String() + ": as it is"
		}
	}
	return n.String()
}

// bits writes an amount without its unit, with two decimal places, upwards.
func bits(n flow.Bits) string {
	const hundredth = flow.Bit / 100
	up := (n + hundredth - 1) / hundredth
	s := strings.TrimRight(fmt.Sprintf("%d.%02d", up/100, up%100), "0")
	return strings.TrimSuffix(s, ".")
}

func weight(thousandths int64) string { return bits(flow.Bits(thousandths) * 1000) }

// purpose is the comment that a rubric begins with.
func purpose(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, "#")
		if !ok {
			break
		}
		out = append(out, strings.TrimSpace(rest))
	}
	return strings.Join(out, " ")
}

// section is the text of a top-level key.
func section(text, key string) string {
	_, rest, _ := strings.Cut(text, "\n"+key+":\n")
	end, _, _ := strings.Cut(rest, "\n\n")
	return end
}

// comments are those of a section in lines of their own, as one text.
func comments(section string) string {
	var out []string
	for line := range strings.Lines(section) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "#"); ok {
			out = append(out, strings.TrimSpace(rest))
		}
	}
	return strings.Join(out, " ")
}

// Reasons are why sinks need a field or don't: what stands behind the lines of
// a rubric's necessity.
func Reasons(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(section(text, "necessity")) {
		rule, why, _ := strings.Cut(line, " # ")
		field, _, _ := strings.Cut(rule, ":")
		out[strings.TrimSpace(field)] = strings.TrimSpace(why)
	}
	return out
}
