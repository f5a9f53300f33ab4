# What `cmake --install` puts in place: headers, both libraries, the command, a CMake package, a .pc file.
include(CMakePackageConfigHelpers)

install(DIRECTORY include/ptxgen DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(TARGETS ptxgen_static ptxgen_shared EXPORT ptxgenTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS ptxgen_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(EXPORT ptxgenTargets NAMESPACE ptxgen:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ptxgen)

configure_package_config_file(cmake/ptxgenConfig.cmake.in ${PROJECT_BINARY_DIR}/ptxgenConfig.cmake
    INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ptxgen)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ptxgenConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ptxgenConfig.cmake ${PROJECT_BINARY_DIR}/ptxgenConfigVersion.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ptxgen)

configure_file(cmake/ptxgen.pc.in ${PROJECT_BINARY_DIR}/ptxgen.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/ptxgen.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
