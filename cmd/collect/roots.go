package main

// The image holds nothing but the binaries. Where a system has no certificates of public authorities,
// those of Mozilla's list are used, as of the version of this module.
import _ "golang.org/x/crypto/x509roots/fallback"
