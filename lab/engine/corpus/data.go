package corpus

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// documents appends one line of JSON: an object of some depth, or one of many
// records, now and then indented.
func documents(d *draw) error {
	v := map[string]any{"id": d.uuid(), "type": d.ident(), "created": d.when().Format(time.RFC3339Nano), "data": d.value(3)}
	if d.IntN(3) == 0 {
		items := make([]any, 2+d.IntN(8))
		for i := range items {
			items[i] = d.person()
		}
		v["items"], v["total"], v["next"] = items, d.IntN(1e5), nil
	}
	b, err := json.Marshal(v)
	if d.IntN(4) == 0 {
		b, err = json.MarshalIndent(v, "", "  ")
	}
	d.b = append(append(d.b, b...), '\n')
	return err
}

func (d *draw) person() map[string]any {
	first, last := d.one(names), d.one(surnames)
	return map[string]any{
		"id": d.IntN(1e7), "name": first + " " + last, "title": d.one(adjectives) + " " + d.one(nouns),
		"active": d.IntN(2) == 0, "score": float64(d.IntN(1e6)) / 1e4, "tags": []string{d.one(nouns), d.one(nouns), d.one(adjectives)},
		"updated": d.when().Unix(), "href": "https://api.example.com/v2/" + d.one(nouns) + "s/" + fmt.Sprint(d.IntN(1e7)), "note": d.sentence(),
	}
}

func (d *draw) value(depth int) any {
	switch k := d.IntN(10); {
	case k < 3 && depth > 0:
		m := map[string]any{}
		for range 1 + d.IntN(6) {
			m[d.ident()] = d.value(depth - 1)
		}
		return m
	case k == 3 && depth > 0:
		l := make([]any, d.IntN(5))
		for i := range l {
			l[i] = d.value(depth - 1)
		}
		return l
	case k == 4:
		return d.sentence()
	case k == 5:
		return d.IntN(2) == 0
	case k == 6:
		return float64(d.IntN(1e9)) / 1000
	case k == 7:
		return d.some(hexits, 40)
	case k == 8:
		return d.one(nouns) + "/" + d.ident() + ".json"
	default:
		return d.IntN(1e6)
	}
}

func (d *draw) when() time.Time {
	return time.Unix(1_700_000_000+d.Int64N(60_000_000), d.Int64N(1e9)).UTC()
}

// encoded appends base64 of compressed text, of noise or of text: in lines as
// mail has it, as a data URL, or as a value of JSON.
func encoded(d *draw) error {
	raw := make([]byte, 300+d.IntN(9000))
	switch d.IntN(3) {
	case 0:
		for i := range raw {
			raw[i] = byte(d.Uint32())
		}
	case 1:
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		for range len(raw) / 60 {
			fmt.Fprintln(z, d.sentence())
		}
		if err := z.Close(); err != nil {
			return err
		}
		raw = b.Bytes()
	default:
		raw = raw[:0]
		for range 1 + d.IntN(40) {
			raw = append(append(raw, d.sentence()...), '\n')
		}
	}
	text := base64.StdEncoding.EncodeToString(raw)
	switch d.IntN(3) {
	case 0:
		for len(text) > 76 {
			d.add(text[:76] + "\r\n")
			text = text[76:]
		}
		d.add(text + "\r\n\r\n")
	case 1:
		d.addf("<img alt=%q src=\"data:image/png;base64,%s\">\n", d.one(nouns), text)
	default:
		d.addf("{\"file\":%q,\"content\":%q}\n", d.ident()+".bin", base64.URLEncoding.EncodeToString(raw))
	}
	return nil
}

// logs appends some lines of one program's.
func logs(d *draw) error {
	at := d.when()
	kind := d.IntN(4)
	host, app := fmt.Sprintf("%s-%02d", d.one(nouns), d.IntN(40)), d.one(nouns)+"-"+d.one(nouns)
	for range 1 + d.IntN(20) {
		at = at.Add(time.Duration(d.IntN(3e9)))
		switch kind {
		case 0:
			d.addf("%d.%d.%d.%d - - [%s] \"%s /%s/%s?page=%d HTTP/1.1\" %s %d \"https://www.example.com/%s\" \"Mozilla/5.0 (X11; Linux x86_64; rv:%d.0) Gecko/20100101 Firefox/%d.0\" %.3f\n",
				1+d.IntN(223), d.IntN(256), d.IntN(256), d.IntN(256), at.Format("02/Jan/2006:15:04:05 -0700"), d.one([]string{"GET", "GET", "GET", "POST", "PUT", "HEAD"}),
				d.one(nouns), d.ident(), d.IntN(90), d.one([]string{"200", "200", "200", "304", "404", "500"}), d.IntN(1e5), d.one(nouns), 90+d.IntN(60), 90+d.IntN(60), d.Float64())
		case 1:
			d.addf("%s %s %s[%d]: %s\n", at.Format(time.Stamp), host, app, d.IntN(40000), d.event())
		case 2:
			d.addf("time=%s level=%s msg=%q component=%s trace_id=%s duration=%s attempt=%d\n", at.Format(time.RFC3339Nano), d.level(), d.event(), app, d.some(hexits, 32), time.Duration(d.IntN(1e9)), d.IntN(9))
		default:
			d.addf("{\"ts\":%q,\"level\":%q,\"logger\":%q,\"msg\":%q,\"namespace\":%q,\"pod\":%q,\"reconcileID\":%q,\"n\":%d}\n", at.Format(time.RFC3339Nano), d.level(),
				"controller."+d.one(nouns), d.event(), d.one(nouns), app+"-"+d.some("bcdfghjklmnpqrstvwxz2456789", 10)+"-"+d.some("bcdfghjklmnpqrstvwxz2456789", 5), d.uuid(), d.IntN(1000))
		}
	}
	return nil
}

func (d *draw) level() string {
	return d.one([]string{"debug", "info", "info", "info", "warn", "error"})
}

// event is what a program says happened.
func (d *draw) event() string {
	switch d.IntN(6) {
	case 0:
		return fmt.Sprintf("%s %s %s in %s", d.one(verbs), d.one(adjectives), d.one(nouns), time.Duration(d.IntN(1e9)))
	case 1:
		return fmt.Sprintf("failed to %s /var/lib/%s/%s.db: no such file or directory", d.one(verbs), d.one(nouns), d.ident())
	case 2:
		return fmt.Sprintf("connection from 10.%d.%d.%d:%d closed after %d bytes", d.IntN(256), d.IntN(256), d.IntN(256), 1024+d.IntN(60000), d.IntN(1e7))
	case 3:
		return fmt.Sprintf("panic: runtime error: index out of range [%d] with length %d goroutine %d 0x%s", d.IntN(99), d.IntN(99), d.IntN(9999), d.some(hexits, 12))
	case 4:
		return fmt.Sprintf("Pulled image \"registry.example.com/%s/%s:v%d.%d.%d@sha256:%s\"", d.one(nouns), d.one(nouns), d.IntN(9), d.IntN(40), d.IntN(40), d.some(hexits, 64))
	default:
		return strings.TrimSuffix(d.sentence(), ".")
	}
}
