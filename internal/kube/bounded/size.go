package bounded

import "reflect"

// mapEntry is what a map keeps beside a key and a value, in bytes.
const mapEntry = 16

// Size is the memory that an object takes, in bytes. In JSON, an empty container takes 11 bytes, and 400 in memory.
func Size(obj any) int64 {
	v := reflect.ValueOf(obj)
	return int64(v.Type().Size()) + referenced(v)
}

func referencedBy(value any) int64 { return referenced(reflect.ValueOf(value)) }

// referenced is the memory that a value refers to, without its own.
func referenced(v reflect.Value) (bytes int64) {
	switch v.Kind() {
	case reflect.String:
		return int64(v.Len())
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			bytes = int64(v.Elem().Type().Size()) + referenced(v.Elem())
		}
	case reflect.Slice:
		bytes = int64(v.Cap()) * int64(v.Type().Elem().Size())
		for i := 0; i < v.Len() && refers(v.Type().Elem().Kind()); i++ {
			bytes += referenced(v.Index(i))
		}
	case reflect.Map:
		entry := int64(v.Type().Key().Size()+v.Type().Elem().Size()) + mapEntry
		for i := v.MapRange(); i.Next(); {
			bytes += entry + referenced(i.Key()) + referenced(i.Value())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			bytes += referenced(v.Field(i))
		}
	}
	return bytes
}

func refers(kind reflect.Kind) bool {
	switch kind {
	case reflect.String, reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map, reflect.Struct:
		return true
	default:
		return false
	}
}
