package main

// The image contains only the binaries. If the system has no certificates of public authorities, Mozilla's list is used, as of the version
// of this module.
import _ "golang.org/x/crypto/x509roots/fallback"
