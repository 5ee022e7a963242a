// Registers the structs of all commands, from which gpualign/run/abi.py makes NumPy types.
#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>
#include <stdexcept>

#include "abi/fields.hpp"
#include "bindings.hpp"

namespace nb = nanobind;

namespace gpualign {

// {name: (size, [(field, offset, type, count of an array or 0), ...])}
static auto abi_structs() {
    std::vector<AbiStruct> entries;
    std::map<std::string, std::string> names;  // of types
    for (const auto& command : {bounded_gaps_abi(), map_abi(), chains_abi(), mems_abi(), pairwise_abi(), search_abi(),
             text_abi(), verify_abi(), words_abi()})
        for (const AbiStruct& entry : command) {
            names[entry.type] = entry.name;
            entries.push_back(entry);
        }
    std::map<std::string, std::tuple<size_t, std::vector<std::tuple<std::string, size_t, std::string, size_t>>>>
        structs;
    for (const AbiStruct& entry : entries) {
        std::vector<std::tuple<std::string, size_t, std::string, size_t>> fields;
        size_t covered = 0;
        for (const AbiField& field : entry.fields) {
            const auto named = names.find(field.type);
            fields.emplace_back(
                field.name, field.offset, named == names.end() ? field.type : named->second, field.count);
            covered += field.bytes;
        }
        if (covered != entry.size) throw std::logic_error(entry.name + ": a field is not listed, or there is padding");
        structs[entry.name] = {entry.size, std::move(fields)};
    }
    return structs;
}

// Writes fields of a struct, as NumPy would, but many times as fast: what is filled for each batch takes the GIL from
// other threads.
class StructWriter {
public:
    struct Field {
        size_t offset, bytes;
        char kind;  // of NumPy; 'u' and 'i': an integer
        std::shared_ptr<const StructWriter> of;  // the writer of a struct
    };

    StructWriter(nb::dict numbers, std::vector<Field> fields)
        : numbers_(std::move(numbers)), fields_(std::move(fields)) {}

    // Returns the names of the fields that are left to NumPy.
    std::vector<nb::str> write(nb::bytearray memory, const nb::typed<nb::dict, nb::str, nb::any>& values) const {
        std::vector<nb::str> left;
        for (const auto& [name, value] : values) {
            PyObject* const number = PyDict_GetItem(numbers_.ptr(), name.ptr());
            if (!number || !put(static_cast<char*>(memory.data()), fields_[PyLong_AsSize_t(number)], value.ptr()))
                left.push_back(nb::borrow<nb::str>(name));
        }
        return left;
    }

private:
    static bool put(char* begin, const Field& field, PyObject* value) {
        char* const to = begin + field.offset;
        if (field.of && PyTuple_Check(value)) return field.of->put_all(to, value);
        if (field.kind == 'V') return put_bytes(to, field.bytes, value);
        return (field.kind == 'u' || field.kind == 'i') && put_integer(to, field, value);
    }

    bool put_all(char* begin, PyObject* values) const {
        if (size_t(PyTuple_Size(values)) != fields_.size()) return false;
        for (size_t i = 0; i < fields_.size(); i++)
            if (!put(begin, fields_[i], PyTuple_GetItem(values, Py_ssize_t(i)))) return false;
        return true;
    }

    // Structs, of the type that the caller sees to.
    static bool put_bytes(char* to, size_t bytes, PyObject* value) {
        Py_buffer view;
        if (!PyObject_CheckBuffer(value) || PyObject_GetBuffer(value, &view, PyBUF_SIMPLE)) return PyErr_Clear(), false;
        const bool fits = size_t(view.len) == bytes;
        if (fits) std::memcpy(to, view.buf, bytes);
        PyBuffer_Release(&view);
        return fits;
    }

    // Also of objects that stand for an integer, such as memory for its address.
    static bool put_integer(char* to, const Field& field, PyObject* value) {
        if (!PyIndex_Check(value)) return false;
        const nb::object number = nb::steal(PyNumber_Index(value));
        const bool is_signed = field.kind == 'i';
        const uint64_t bits = !number.is_valid() ? 0
                              : is_signed        ? uint64_t(PyLong_AsLongLong(number.ptr()))
                                                 : PyLong_AsUnsignedLongLong(number.ptr());
        if (PyErr_Occurred()) return PyErr_Clear(), false;
        const unsigned unused = 64 - 8 * unsigned(field.bytes);
        const uint64_t again = is_signed ? uint64_t(int64_t(bits << unused) >> unused) : bits << unused >> unused;
        if (again != bits) return false;
        std::memcpy(to, &bits, field.bytes);
        return true;
    }

    nb::dict numbers_;  // of fields, by name
    std::vector<Field> fields_;
};

void bind_abi(nb::module_& m) {
    m.def("abi_structs", &abi_structs, "Layout of the structs that cross to a device.");
    nb::class_<StructWriter>(m, "StructWriter")
        .def(
            "__init__",
            [](StructWriter* self, const std::vector<std::tuple<std::string, size_t, size_t, std::string,
                                       std::shared_ptr<const StructWriter>>>& fields) {
                nb::dict numbers;
                std::vector<StructWriter::Field> own;
                for (const auto& [name, offset, bytes, kind, of] : fields) {
                    numbers[name.c_str()] = own.size();
                    own.push_back({offset, bytes, kind.at(0), of});
                }
                new (self) StructWriter(std::move(numbers), std::move(own));
            },
            nb::arg("fields"), "`fields`: name, offset, bytes, kind of NumPy's type, and the writer of a struct.")
        .def("write", &StructWriter::write, nb::arg("memory"), nb::arg("values"),
            "Write fields of the struct in `memory`; returns the names of those that it leaves to NumPy.");
}

}  // namespace gpualign
