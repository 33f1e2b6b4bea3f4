#!/usr/bin/env bash
# Looks for known vulnerabilities that our code calls, with govulncheck of the version in tools/govulncheck:
#   hack/govulncheck/run.sh [its flags] packages
# GOVULNDB names another database than Go's, such as file:///srv/vulndb, and that must be there. Exits 77, which is
# neither good nor bad, where Go's cannot be reached: then nothing was checked.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
check=(go tool -modfile=tools/govulncheck/go.mod govulncheck -db="${GOVULNDB:-https://vuln.go.dev}")

# It asks the database when it was updated, before a minute is spent on our code.
version=$("${check[@]}" -version)
if [ -z "${GOVULNDB:-}" ] && ! grep -q '^DB updated:' <<<"$version"; then
  echo 'nothing was checked: the database at vuln.go.dev cannot be reached, and GOVULNDB names no other'
  exit 77
fi
exec "${check[@]}" "$@"
