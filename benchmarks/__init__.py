"""Measurements of skgraft beside its peers; each module without a leading underscore is one command."""
