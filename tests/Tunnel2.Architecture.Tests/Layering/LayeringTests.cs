using Tunnel2.Architecture.Tests.Repository;

namespace Tunnel2.Architecture.Tests.Layering;

public sealed class LayeringTests
{
    /// <summary>What each project under src may reference. A new project is a new row.</summary>
    private static readonly Dictionary<string, Layer> _layers = new()
    {
        ["Tunnel2.Protocol"] = new(),
        ["Tunnel2.Http1"] = new(),
        ["Tunnel2.Http2"] = new(),
        ["Tunnel2.Telemetry"] = new(),
        ["Tunnel2.Ports"] = new(),
        ["Tunnel2.Multiplexing"] = new() { Projects = ["Tunnel2.Protocol"] },
        ["Tunnel2.Transport"] = new() { Projects = ["Tunnel2.Multiplexing", "Tunnel2.Protocol"] },
        ["Tunnel2.Transport.PipelinesSockets"] = new()
        {
            Projects = ["Tunnel2.Transport"],
            Packages = ["Pipelines.Sockets.Unofficial"],
        },
        ["Tunnel2.Inspection"] = new() { Projects = ["Tunnel2.Protocol", "Tunnel2.Http1"] },
        ["Tunnel2.Policies"] = new() { Projects = ["Tunnel2.Protocol", "Tunnel2.Http1"] },
        ["Tunnel2.Client.Core"] = new()
        {
            Projects =
            [
                "Tunnel2.Multiplexing", "Tunnel2.Transport", "Tunnel2.Http1", "Tunnel2.Http2", "Tunnel2.Inspection", "Tunnel2.Policies",
            ],
        },
        ["Tunnel2.Client"] = new()
        {
            Projects = ["Tunnel2.Client.Core", "Tunnel2.Telemetry", "Tunnel2.Transport.PipelinesSockets"],
            Packages = ["QRCoder", "System.ServiceProcess.ServiceController", "YamlDotNet"],
        },
        ["Tunnel2.Embed"] = new() { Projects = ["Tunnel2.Client.Core"], SeesAspNet = true },
        ["Tunnel2.ProxyEntry.Configuration"] = new()
        {
            Projects = ["Tunnel2.Transport", "Tunnel2.Policies"],
            SeesAspNet = true,
            AspNetAssemblies = [],
        },
        ["Tunnel2.ProxyEntry.Core"] = new()
        {
            Projects = ["Tunnel2.ProxyEntry.Configuration", "Tunnel2.Http1", "Tunnel2.Inspection", "Tunnel2.Telemetry"],
            Packages = ["Microsoft.IdentityModel.JsonWebTokens"],
            SeesAspNet = true,
            AspNetAssemblies = ["Microsoft.AspNetCore.Http.Abstractions"],
        },
        ["Tunnel2.ProxyEntry.Cluster"] = new()
        {
            Projects = ["Tunnel2.ProxyEntry.Core"],
            Packages = ["Npgsql"],
            SeesAspNet = true,
            AspNetAssemblies = [],
        },
        ["Tunnel2.ProxyEntry.Http1"] = new() { Projects = ["Tunnel2.ProxyEntry.Core"], SeesAspNet = true },
        ["Tunnel2.ProxyEntry.Observability"] = new()
        {
            Projects = ["Tunnel2.ProxyEntry.Core"],
            Packages = ["OpenTelemetry", "OpenTelemetry.Exporter.OpenTelemetryProtocol"],
            SeesAspNet = true,
            AspNetAssemblies = [],
        },
        ["Tunnel2.ProxyEntry.Hosting"] = new()
        {
            Projects = ["Tunnel2.Http2", "Tunnel2.ProxyEntry.Cluster", "Tunnel2.ProxyEntry.Http1", "Tunnel2.ProxyEntry.Observability"],
            Packages = ["Microsoft.AspNetCore.Authentication.OpenIdConnect"],
            SeesAspNet = true,
        },
        ["Tunnel2.ProxyEntry"] = new() { Projects = ["Tunnel2.ProxyEntry.Hosting"], SeesAspNet = true },
        ["Tunnel2.Quickstart"] = new() { Projects = ["Tunnel2.ProxyEntry", "Tunnel2.Client.Core"], SeesAspNet = true },
    };

    /// <summary>Outside of src, ASP.NET Core is for these.</summary>
    private static readonly string[] _othersThatSeeAspNet =
        ["Tunnel2.Ancestor", "Tunnel2.GrpcLoad", "Tunnel2.TestBackend", "Tunnel2.Samples.Embedding", "Tunnel2.Samples.Hosting"];

    public static TheoryData<string> Sources => [.. ProjectFile.UnderSrc.Select(project => project.Name)];

    [Theory]
    [MemberData(nameof(Sources))]
    public void A_project_references_what_its_layer_allows(string name)
    {
        var project = ProjectFile.All.Single(project => project.Name == name);
        Assert.True(_layers.TryGetValue(name, out var layer), $"{name} has no row in the table of layers.");
        Assert.Equal([], project.References.Except(layer.Projects.Select(other => $"src/{other}/{other}.csproj")));
        Assert.Equal([], project.Packages.Except(layer.Packages));
        Assert.True(layer.SeesAspNet || !project.SeesAspNet, $"{name} may not see ASP.NET Core.");
    }

    [Fact]
    public void Outside_of_src_only_listed_projects_see_aspnet() =>
        Assert.Equal(
            _othersThatSeeAspNet,
            ProjectFile.All.Where(project => project.Folder != "src" && project.SeesAspNet).Select(project => project.Name));

    [Fact]
    public void No_assembly_below_proxyentry_refers_to_aspnet()
    {
        foreach (var project in ProjectFile.UnderSrc.Where(project => !_layers[project.Name].SeesAspNet))
        {
            Assert.DoesNotContain(
                AssemblyMetadata.Of(project).AssemblyReferences, name => name.StartsWith("Microsoft.AspNetCore", StringComparison.Ordinal));
        }
    }

    /// <summary>
    /// The shared framework brings logging and configuration too: a project that needs no more than these names none of the server's
    /// assemblies.
    /// </summary>
    [Fact]
    public void Configuration_core_and_observability_know_no_kestrel()
    {
        foreach (var (name, layer) in _layers.Where(layer => layer.Value.AspNetAssemblies is not null))
        {
            var references = AssemblyMetadata.Of(ProjectFile.All.Single(project => project.Name == name)).AssemblyReferences;
            Assert.Equal(
                layer.AspNetAssemblies!,
                references.Where(reference => reference.StartsWith("Microsoft.AspNetCore", StringComparison.Ordinal)));
        }
    }

    [Fact]
    public void The_wire_level_does_no_io()
    {
        var protocol = AssemblyMetadata.Of(ProjectFile.All.Single(project => project.Name == "Tunnel2.Protocol"));
        Assert.NotEmpty(protocol.ReferencedTypes);
        Assert.Equal([],
        protocol.ReferencedTypes.Where(type => type is "System.Console" or "System.Diagnostics.Process" or "System.Threading.Thread"
            || type.StartsWith("System.IO.", StringComparison.Ordinal) || type.StartsWith("System.Net.", StringComparison.Ordinal)
            || type.StartsWith("System.Threading.Tasks.", StringComparison.Ordinal)));
    }

    private sealed record Layer
    {
        public string[] Projects { get; init; } = [];

        public string[] Packages { get; init; } = [];

        public bool SeesAspNet { get; init; }

        /// <summary>The assemblies of ASP.NET Core that it refers to; null: any.</summary>
        public string[]? AspNetAssemblies { get; init; }
    }
}
