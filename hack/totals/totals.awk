# Reads `go test -json` and prints the skipped tests by reason, what the short run left to the full one (internal/fulltest),
# and last the totals, subtests counted too:
#
#	N passed, N failed, N skipped
#
# gotestsum, which prints everything before that, groups no skipped tests by reason and does not know what was left.
# A package that fails without a failed test (it does not build, or its process died) counts as one failure.

# field returns a string of the line as it stands there, with JSON's escapes.
function field(name) {
  if (!match($0, "\"" name "\":\"([^\"\\\\]|\\\\.)*\"")) return ""
  return substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 5)
}

{ action = field("Action"); test = field("Package") " " field("Test") }

action == "output" {
  # What a test logs begins with its place: "    some_test.go:12: text\n".
  text = field("Output")
  if (match(text, /^ *[A-Za-z0-9_.-]+\.go:[0-9]+: /)) {
    text = substr(text, RLENGTH + 1)
    sub(/\\n$/, "", text)
    gsub(/\\"/, "\"", text); gsub(/\\u003c/, "<", text); gsub(/\\u003e/, ">", text); gsub(/\\u0026/, "\\&", text)
    if (text ~ /left to make test-full/) left[field("Package")]++
    said[test] = text
  }
}

field("Test") != "" && action == "pass" { passed++ }
field("Test") != "" && action == "fail" { failed++; blamed[field("Package")] = 1 }
field("Test") != "" && action == "skip" && said[test] !~ /^left to make test-full/ { skipped++; reasons[said[test]]++ }
field("Test") == "" && action == "fail" && !(field("Package") in blamed) { failed++ }
action == "pass" || action == "fail" || action == "skip" { delete said[test] }

END {
  for (reason in reasons) printf "skipped %d: %s\n", reasons[reason], reason
  for (package in left) {
    sum += left[package]
    name = package
    sub(/^[^\/]*\/[^\/]*\/[^\/]*\//, "", name) # our module
    places = places (places ? ", " : "") name " " left[package]
  }
  if (sum) printf "left to make test-full: %d tests (%s)\n", sum, places
  printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
}
