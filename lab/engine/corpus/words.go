package corpus

import "strings"

var nouns = strings.Fields(`account address agent amount answer archive article balance batch bill board body book
 branch budget build bundle cache call campaign card cart case chain change channel city claim class client cluster
 code color column comment commit company config contract copy country course cover customer dashboard data day
 delivery demand deploy design desk device digest document domain door draft driver edge editor employee engine entry
 event example export field file filter flow folder form frame gateway grant graph group guest guide handler harbour
 header history host house image import index input invoice item job journal kernel label language layer lesson level
 library license limit line link list load location log loop machine mail manager map market member memory menu
 message meter method mirror model module monitor month network node note notice number object offer office option
 order origin owner package page panel parcel parser part patch path payment period person phase phone pipeline place
 plan player pool port post price printer process product profile program project proof query queue quota rack range
 rate reader reason receipt record region release rename report request resource result review river road role room
 route row rule sample schedule schema scope score screen search season segment sender sensor series server service
 session shard share shelf shipment signal site size slot source stage state station status step stock storage store
 stream street style subject supplier support surface switch system table tag target task team template tenant term
 test thread ticket time title tool topic total trace track trade train transfer tree trial trip type unit update
 usage user value vendor version view visit volume wait wall warehouse water window word worker yard zone`)

var verbs = strings.Fields(`accept add apply approve assign attach begin bind block build cancel check clear close
 collect compare compute connect copy count create deliver detach disable drain drop enable expand fail fetch find
 finish flush format grow handle ignore insert join keep lease limit list load lock mark match measure merge move
 notify open parse pause poll prune publish pull push queue read rebuild receive refresh reject release remove rename
 render repair replace report reserve reset resolve restart resume retry return review roll save scan schedule send
 serve shed skip sort split start stop store submit switch sync tag test trim truncate unlock update upload validate
 verify visit wait walk warm watch write`)

var adjectives = strings.Fields(`active annual ancient blue brief bright broken calm clean closed cold common current
 daily deep dry early empty external final first fresh full gentle global green grey idle internal large last late
 light local long loose low main minor modern monthly narrow new next old open orange pale partial pending plain
 previous primary private public quick quiet rare ready recent regional remote secondary shared sharp short silent
 simple single slow small smooth solid stable stale steady strange strong temporary tidy tiny total upper urgent usual
 vacant warm weekly white wide yearly yellow young`)

var names = strings.Fields(`Adaeze Amir Ana Anders Aoife Bao Beatriz Chidi Clara Dario Elif Emeka Farah Felix Greta
 Hana Henrik Ines Isamu Ivo Jonas Kaia Kofi Lars Leila Linh Lucia Magnus Mei Milan Nadia Noor Olga Oskar Paulo Priya
 Rafael Rosa Samir Sanna Soren Tariq Tomas Uma Vera Viktor Wanjiru Yara Yusuf Zofia`)

var surnames = strings.Fields(`Abara Almeida Andersen Bauer Berg Castro Cohen Diallo Eriksen Farkas Fischer Garcia
 Haddad Hansen Ibarra Ito Jensen Kaya Kowalski Laurent Lindqvist Mbeki Moreau Nakamura Novak Okafor Oliveira Petrov
 Quist Rahman Rossi Sato Schmidt Silva Tanaka Ueda Varga Weber Yilmaz Zhou`)

// sentence is English of some words, as descriptions and messages have it.
func (d *draw) sentence() string {
	var b strings.Builder
	for i := range 1 + d.IntN(3) {
		if i > 0 {
			b.WriteString(d.one([]string{", and ", " while ", "; then ", " because ", " but "}))
		}
		b.WriteString(d.one([]string{"the ", "a ", "each ", "this ", "our ", "every "}))
		if d.IntN(2) == 0 {
			b.WriteString(d.one(adjectives) + " ")
		}
		b.WriteString(d.one(nouns) + d.one([]string{" will ", " may ", " does not ", " did ", " must ", " can "}) + d.one(verbs))
		b.WriteString(d.one([]string{" the ", " its ", " a ", " one "}) + d.one(adjectives) + " " + d.one(nouns))
		if d.IntN(3) == 0 {
			b.WriteString(d.one([]string{" in ", " of ", " before ", " after ", " near "}) + "the " + d.one(nouns))
		}
	}
	s := b.String()
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

// ident is a name as programs have it.
func (d *draw) ident() string {
	a, b := d.one(nouns), d.one(nouns)
	switch d.IntN(5) {
	case 0:
		return a
	case 1:
		return a + "_" + b
	case 2:
		return d.one(verbs) + strings.ToUpper(a[:1]) + a[1:]
	case 3:
		return d.one(adjectives) + strings.ToUpper(a[:1]) + a[1:] + strings.ToUpper(b[:1]) + b[1:]
	default:
		return a + strings.ToUpper(b[:1]) + b[1:]
	}
}

func (d *draw) uuid() string {
	return d.some(hexits, 8) + "-" + d.some(hexits, 4) + "-4" + d.some(hexits, 3) + "-" + d.some("89ab", 1) + d.some(hexits, 3) + "-" + d.some(hexits, 12)
}
