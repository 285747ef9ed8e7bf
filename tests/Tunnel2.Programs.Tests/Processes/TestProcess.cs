using System.Runtime.CompilerServices;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Processes;

internal static class TestProcess
{
    [ModuleInitializer]
    internal static void Begin() => OwnStateFolder.Use();
}
