// Converts the formatters' arguments from Python.
#pragma once
#include "bindings.hpp"
#include "abi/text.hpp"

namespace gpualign {

inline CsForm cs_form(int number) {
    if (number < 0 || number > int(CsForm::whole)) throw nb::value_error("no form of cs");
    return CsForm(number);
}

}  // namespace gpualign
