package idnumber_test

import (
	"strings"
	"testing"

	"github.com/margaydev/margay/internal/idnumber"
)

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		name      string
		check     func([]byte) bool
		good, bad []string
	}{
		{"card", idnumber.Card, []string{"4242 4242 4242 4242", "5555555555554444", "4222222222222"}, []string{"4242 4242 4242 4241", "0000000000000000", "42", "4242 4242 4242 4242 4242"}},
		{"luhn", idnumber.Luhn, []string{"79927398713", "0"}, []string{"79927398710"}},
		{"iban", idnumber.IBAN, []string{"DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432", "de89 3704 0044 0532 0130 00", "gb82west12345698765432", "No9386011117947"}, []string{"de8937040044053201300", "zz68539007547034", "DE89370400440532013001", "DE89", strings.Repeat("1", 35)}},
		{"phone", idnumber.Phone, []string{"+49 30 901820", "(415) 555-2671", "415-555-2671", "+1 415 555 2671", "+7 495 1234567", "+972 2 1234567", "+1 809 555 2671"}, []string{"+210 123 4567", "+999 123 45678", "+89 12345678", "+1 2", "111-111-1111", "115-555-2671", "+0 30 901820", "+1234567890123456"}},
		{"national phone", idnumber.NationalPhone, []string{"030 901820", "06 12 34 56 78"}, []string{"030 901", "2024-05-06", "0000000", "12345678901234"}},
		{"ssn", idnumber.SSN, []string{"536-90-4399"}, []string{"000-12-3456", "666-12-3456", "900-12-3456", "123-00-4567", "123-45-0000"}},
		{"nino", idnumber.NINO, []string{"AB 12 34 56 C"}, []string{"GB123456A", "ZZ123456A"}},
		{"nhs", idnumber.NHS, []string{"943 476 5919"}, []string{"943 476 5918", "000 000 0000"}},
		{"nir", idnumber.NIR, []string{"2 55 08 14 168 025 38"}, []string{"2 55 08 14 168 025 39"}},
		{"dni", idnumber.DNI, []string{"12345678Z", "X1234567L", "X1234567-L"}, []string{"12345678A", "Y1234567L"}},
		{"codice fiscale", idnumber.CodiceFiscale, []string{"RSSMRA85T10A562S"}, []string{"RSSMRA85T10A562T"}},
		{"cpf", idnumber.CPF, []string{"529.982.247-25"}, []string{"529.982.247-24", "529.982.247-15", "111.111.111-11"}},
		{"bsn", idnumber.BSN, []string{"111222333"}, []string{"111222334", "000000000"}},
		{"steuer-id", idnumber.SteuerID, []string{"86095742719"}, []string{"86095742718"}},
		{"aadhaar", idnumber.Aadhaar, []string{"2341 2341 2346"}, []string{"2341 2341 2345", "2341 2341 3246"}},
	} {
		for _, v := range c.good {
			if !c.check([]byte(v)) {
				t.Errorf("%s: %q is one", c.name, v)
			}
		}
		for _, v := range c.bad {
			if c.check([]byte(v)) {
				t.Errorf("%s: %q is none", c.name, v)
			}
		}
	}
}

// A check digit finds every single digit that is mistyped.
func TestMistyped(t *testing.T) {
	for name, c := range map[string]struct {
		check func([]byte) bool
		value string
	}{
		"card": {idnumber.Card, "4242424242424242"}, "iban": {idnumber.IBAN, "DE89370400440532013000"}, "nhs": {idnumber.NHS, "9434765919"},
		"aadhaar": {idnumber.Aadhaar, "234123412346"}, "steuer-id": {idnumber.SteuerID, "86095742719"}, "bsn": {idnumber.BSN, "111222333"},
	} {
		for i := range c.value {
			for d := byte('0'); d <= '9'; d++ {
				v := []byte(c.value)
				if v[i] < '0' || v[i] > '9' || v[i] == d {
					continue
				}
				if v[i] = d; c.check(v) {
					t.Errorf("%s: %s passes for %s", name, v, c.value)
				}
			}
		}
	}
}
