using System.Collections.Immutable;
using System.Globalization;
using System.Reflection.Metadata;
using System.Reflection.PortableExecutable;
using Microsoft.Extensions.Logging;
using Tunnel2.Architecture.Tests.Layering;
using Tunnel2.Architecture.Tests.Repository;

namespace Tunnel2.Architecture.Tests.Logging;

public sealed class LogEventTests
{
    /// <summary>Who may use which event ids; a range is a promise to operators who filter logs by id.</summary>
    private static readonly (int First, int Last, string[] Projects)[] _ranges =
    [
        (1000, 1099, ["Tunnel2.Multiplexing", "Tunnel2.Transport", "Tunnel2.ProxyEntry.Core", "Tunnel2.Client.Core"]), // session
        (1100, 1199, ["Tunnel2.Multiplexing", "Tunnel2.Transport"]), // uplink writer
        (1200, 1299, ["Tunnel2.Multiplexing", "Tunnel2.Transport", "Tunnel2.ProxyEntry.Core", "Tunnel2.Client.Core"]), // stream
        (1300, 1399, ["Tunnel2.Multiplexing", "Tunnel2.Transport", "Tunnel2.ProxyEntry.Core", "Tunnel2.Client.Core"]), // protocol errors
        (2000, 2099, ["Tunnel2.ProxyEntry.Core"]), // routing
        (2100, 2199, ["Tunnel2.ProxyEntry.Core"]), // forwarding
        (2200, 2299, ["Tunnel2.ProxyEntry.Core"]), // admin
        (2700, 2799, ["Tunnel2.ProxyEntry.Cluster"]), // the cluster's directory
        (3000, 3999, ["Tunnel2.Client.Core", "Tunnel2.Client", "Tunnel2.Embed", "Tunnel2.Quickstart"]), // client
        (4000, 4999, ["Tunnel2.Telemetry", "Tunnel2.ProxyEntry.Hosting", "Tunnel2.Client"]), // live plane
    ];

    private static readonly ImmutableArray<LogEvent> _events = [.. ProjectFile.UnderSrc.SelectMany(Read)];

    [Fact]
    public void Log_event_ids_are_unique_over_all_assemblies()
    {
        var twice = _events.GroupBy(entry => entry.Id).Where(group => group.Count() > 1);
        Assert.Equal([], twice.Select(group => $"{group.Key}: {string.Join(", ", group.Select(entry => entry.Method))}"));
    }

    [Fact]
    public void Log_event_ids_lie_in_the_ranges_of_their_project()
    {
        var outside = _events.Where(entry =>
            !_ranges.Any(range => entry.Id >= range.First && entry.Id <= range.Last && range.Projects.Contains(entry.Project)));
        Assert.Equal([], outside.Select(entry => $"{entry.Project} {entry.Id} {entry.Method}"));
    }

    [Fact]
    public void Log_messages_are_found_in_compiled_attributes()
    {
        // The probe below is compiled into this assembly: were the attribute stripped, the two checks above could not fail.
        var probe = Read(AppContext.BaseDirectory + "Tunnel2.Architecture.Tests.dll", "Tunnel2.Architecture.Tests");
        Assert.Equal(
            [(9998, LogLevel.Debug, "Positional"), (9999, LogLevel.Debug, "Named")],
            probe.Select(entry => (entry.Id, entry.Level, entry.Message)).Order());
    }

    [Fact]
    public void The_documented_events_are_those_of_the_code()
    {
        var documented = File.ReadLines(RepositoryFiles.FullPath("docs/log-events.md")).Where(
            line => line.StartsWith("| ", StringComparison.Ordinal) && char.IsAsciiDigit(line[2]));
        Assert.Equal(_events.OrderBy(entry => entry.Id).Select(entry => $"| {entry.Id} | {entry.Level} | {entry.Message} |"), documented);
    }

    private static IEnumerable<LogEvent> Read(ProjectFile project) => Read(AssemblyMetadata.PathOf(project), project.Name);

    private static List<LogEvent> Read(string path, string project)
    {
        using var file = new PEReader(File.OpenRead(path));
        var reader = file.GetMetadataReader();
        var events = new List<LogEvent>();
        foreach (var handle in reader.MethodDefinitions)
        {
            var method = reader.GetMethodDefinition(handle);
            foreach (var attribute in method.GetCustomAttributes().Select(reader.GetCustomAttribute).Where(x => IsLoggerMessage(reader, x)))
            {
                var value = attribute.DecodeValue(AttributeTypes.Instance);
                var declaring = reader.GetString(reader.GetTypeDefinition(method.GetDeclaringType()).Name);
                events.Add(new(
                    project,
                    Convert.ToInt32(Find(value, "EventId", "System.Int32") ?? 0, CultureInfo.InvariantCulture),
                    (LogLevel)Convert.ToInt32(Find(value, "Level", nameof(LogLevel)) ?? (int)LogLevel.None, CultureInfo.InvariantCulture),
                    (string?)Find(value, "Message", "System.String") ?? "",
                    $"{declaring}.{reader.GetString(method.Name)}"));
            }
        }

        return events;
    }

    private static object? Find(CustomAttributeValue<string> attribute, string name, string type) =>
        attribute.NamedArguments.Where(argument => argument.Name == name).Select(argument => argument.Value)
            .Concat(attribute.FixedArguments.Where(argument => argument.Type == type).Select(argument => argument.Value))
            .FirstOrDefault();

    private static bool IsLoggerMessage(MetadataReader reader, CustomAttribute attribute)
    {
        if (attribute.Constructor.Kind != HandleKind.MemberReference)
        {
            return false;
        }

        var parent = reader.GetMemberReference((MemberReferenceHandle)attribute.Constructor).Parent;
        return parent.Kind == HandleKind.TypeReference
            && reader.GetString(reader.GetTypeReference((TypeReferenceHandle)parent).Name) == "LoggerMessageAttribute";
    }

    private sealed record LogEvent(string Project, int Id, LogLevel Level, string Message, string Method);
}
