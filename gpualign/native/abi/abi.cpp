// Registers the structs of all commands, from which gpualign/engine/gpu/abi.py makes NumPy types.
#include <nanobind/stl/string.h>

#include <stdexcept>

#include "abi/fields.hpp"
#include "bindings.hpp"

namespace nb = nanobind;

namespace gpualign {

// {name: (size, [(field, offset, type, count of an array or 0), ...])}
static nb::dict abi_structs() {
    nb::dict structs;
    for (const auto& command : {bounded_gaps_abi(), map_abi(), chains_abi(), mems_abi(), pairwise_abi(), text_abi(),
        verify_abi()})
        for (const AbiStruct& entry : command) {
            nb::list fields;
            size_t covered = 0;
            for (const AbiField& field : entry.fields) {
                fields.append(nb::make_tuple(field.name, field.offset, field.type, field.count));
                covered += field.bytes;
            }
            if (covered != entry.size) throw std::logic_error(entry.name + ": a field is not listed, or there is padding");
            structs[entry.name.c_str()] = nb::make_tuple(entry.size, fields);
        }
    return structs;
}

void bind_abi(nb::module_& m) {
    m.def("abi_structs", &abi_structs, "Layout of the structs that cross to a device.");
}

}  // namespace gpualign
