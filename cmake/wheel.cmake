# A wheel's only component: the library once (a wheel has no links), the command, the module and the headers, all in the
# package's folder, which finds its parts by their place relative to each other.
set_target_properties(ptxgen_shared PROPERTIES VERSION ${PROJECT_VERSION_MAJOR})
set_target_properties(ptxgen_python ptxgen_tvm_ffi PROPERTIES INSTALL_RPATH "$ORIGIN")
set_target_properties(ptxgen_command PROPERTIES INSTALL_RPATH "$ORIGIN/..")
install(TARGETS ptxgen_shared LIBRARY DESTINATION ptxgen COMPONENT wheel NAMELINK_SKIP)
install(TARGETS ptxgen_python ptxgen_tvm_ffi LIBRARY DESTINATION ptxgen COMPONENT wheel)
install(TARGETS ptxgen_command RUNTIME DESTINATION ptxgen/bin COMPONENT wheel)
install(TARGETS ptxgen_nvrtc RUNTIME DESTINATION ptxgen/ptxgen COMPONENT wheel) # where the library looks
install(DIRECTORY include/ptxgen DESTINATION ptxgen/include COMPONENT wheel
    FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
