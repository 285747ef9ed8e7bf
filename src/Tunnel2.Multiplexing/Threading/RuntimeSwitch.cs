namespace Tunnel2.Multiplexing.Threading;

/// <summary>The off switch of a runtime trick.</summary>
internal static class RuntimeSwitch
{
    /// <summary>On, unless the runtime's configuration has the switch off or the environment variable is <c>0</c>.</summary>
    public static bool IsOn(string name, string variable) =>
        !(AppContext.TryGetSwitch(name, out var isOn) && !isOn) && Environment.GetEnvironmentVariable(variable) != "0";
}
