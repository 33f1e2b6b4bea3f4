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

// contextName names cluster, user and context in our kubeconfig files.
const contextName = "cooper"

// Kubeconfig returns the content of a kubeconfig file for config, with namespace as the default one. Certificates are
// in it, so that it needs no other file.
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
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return content, nil
}

// WriteKubeconfig writes Kubeconfig to path, readable by the user alone. A reader sees the old file or the whole new
// one.
func WriteKubeconfig(path string, config *rest.Config, namespace string) error {
	content, err := Kubeconfig(config, namespace)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	defer os.Remove(tmp.Name())
	if _, err := tmp.Write(content); err != nil {
		_ = tmp.Close()
		return fmt.Errorf("kubeconfig: %w", err)
	}
	if err := tmp.Close(); err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	return nil
}
