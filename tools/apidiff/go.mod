module github.com/cooper-cosi/cooper/tools/apidiff

go 1.26.0

require golang.org/x/exp v0.0.0-20261113113407-e3970619a1a4

require golang.org/x/tools v0.52.1-0.20261106145633-d407941a339a // indirect
