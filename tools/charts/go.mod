module github.com/cooper-cosi/cooper/tools/charts

go 1.26.0

require (
	go.yaml.in/yaml/v3 v3.0.6
	sigs.k8s.io/yaml v1.6.0
)

require go.yaml.in/yaml/v2 v2.4.4 // indirect
