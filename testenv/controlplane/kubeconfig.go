// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// contextName is the name of the cluster, user and context in Cooper's kubeconfig files.
const contextName = "cooper"

// Kubeconfig returns a kubeconfig file for config with the given default namespace. Certificates are
// embedded, so it refers to no other file.
func Kubeconfig(config *rest.Config, namespace string) ([]byte, error) {
	file := clientcmdapi.NewConfig()
	file.Clusters[contextName] = &clientcmdapi.Cluster{
		Server:                   config.Host,
		CertificateAuthorityData: config.CAData,
		TLSServerName:            config.ServerName,
	}
	file.AuthInfos[contextName] = &clientcmdapi.AuthInfo{
		ClientCertificateData: config.CertData,
		ClientKeyData:         config.KeyData,
		Token:                 config.BearerToken,
	}
	file.Contexts[contextName] = &clientcmdapi.Context{Cluster: contextName, AuthInfo: contextName, Namespace: namespace}
	file.CurrentContext = contextName
	content, err := clientcmd.Write(*file)
	if err != nil {
		return nil, fmt.Errorf("encode the kubeconfig: %w", err)
	}
	return content, nil
}

// WriteKubeconfig atomically writes Kubeconfig to path, readable only by the user.
func WriteKubeconfig(path string, config *rest.Config, namespace string) error {
	content, err := Kubeconfig(config, namespace)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	defer os.Remove(tmp.Name())
	if _, err := tmp.Write(content); err != nil {
		_ = tmp.Close()
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	if err := tmp.Close(); err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	return nil
}
