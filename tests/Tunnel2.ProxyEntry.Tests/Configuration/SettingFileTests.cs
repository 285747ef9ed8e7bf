using System.Net.Sockets;
using Tunnel2.ProxyEntry.Reload;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Configuration;

/// <summary>What is in the place of a file or folder is said, and nothing waits for it.</summary>
public sealed class SettingFileTests : IDisposable
{
    /// <summary>Longer than a file system's names.</summary>
    private const string TooLong =
        "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
        + "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
        + "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789";

    private const string NoFile = "it is empty, or is no file but a pipe, a socket or a device.";

    /// <summary>What makes a server look at the files.</summary>
    private static readonly string[] _others = ["Acme:Directory=letsencrypt", "Cluster:Database=Host=db1"];

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("tunnel2-test-");
    private readonly Socket _socket = new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);

    public SettingFileTests()
    {
        File.CreateSymbolicLink(In("dangling"), In("gone"));
        File.CreateSymbolicLink(In("loop"), In("loop"));
        Directory.CreateDirectory(In("folder"));
        File.WriteAllText(In("empty"), "");
        File.WriteAllText(In("file"), "x");
        File.CreateSymbolicLink(In("link"), In("file"));
        _socket.Bind(new UnixDomainSocketEndPoint(In("socket")));
    }

    public void Dispose()
    {
        _socket.Dispose();
        _folder.Delete(recursive: true);
    }

    public static TheoryData<string, string, string> Files
    {
        get
        {
            var data = new TheoryData<string, string, string>();
            foreach (var key in new[]
            {
                "Uplink:Certificate", "Uplink:ClientCa", "Public:Certificate", "Acme:Ca", "Agents:a:Policy", "Agents:a:ClientCa",
                "Agents:a:WebhookSecretFile", "Oidc:staff:ClientSecretFile", "Cluster:Secret",
            })
            {
                data.Add(key, "dangling", "gone\", which is not there.");
                data.Add(key, "loop", "it is a symbolic link that leads to itself.");
                data.Add(key, "folder", "it is a folder, not a file.");
                data.Add(key, "pipe", NoFile);
                data.Add(key, "socket", NoFile);
                data.Add(key, "empty", NoFile);
                data.Add(key, "/dev/null", NoFile);
                data.Add(key, "/dev/zero", NoFile);
            }

            return data;
        }
    }

    [Theory]
    [MemberData(nameof(Files))]
    public async Task What_is_no_file_is_said(string key, string place, string words)
    {
        await MakePipeAsync();
        var path = place[0] == '/' ? place : In(place);

        var errors = await Task.Run(() => SettingsFixture.Load([.. _others, $"{key}={path}"]).Errors, TestContext.Current.CancellationToken)
            .WaitAsync(AsyncCounter.DefaultTimeout, TestContext.Current.CancellationToken);

        Assert.Contains(errors, error => error.Key == $"Tunnel2:{key}" && error.Message.Contains(words, StringComparison.Ordinal));
    }

    [Theory]
    [InlineData("StateFolder", "dangling", "gone\", which is not there.")]
    [InlineData("StateFolder", "loop", "is a symbolic link that leads to itself.")]
    [InlineData("StateFolder", "file", "is a file, and not a folder.")]
    [InlineData("StateFolder", "link", "is a file, and not a folder.")]
    [InlineData("Public:CertificateFolder", "dangling", "gone\", which is not there.")]
    [InlineData("Public:CertificateFolder", "file", "is a file, and not a folder.")]
    [InlineData("Public:CertificateFolder", "nothing", "is not there.")]
    public void What_is_no_folder_is_said(string key, string place, string words)
    {
        var error = Assert.Single(SettingsFixture.Load($"{key}={In(place)}").Errors);
        Assert.Equal("Tunnel2:" + key, error.Key);
        Assert.StartsWith($"\"{In(place)}\" is ", error.Message, StringComparison.Ordinal);
        Assert.EndsWith(words, error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("Public:CertificateFolder", "nothing/in/it", "is not there.")]
    [InlineData("Public:CertificateFolder", TooLong, "cannot be reached: ")]
    [InlineData("Public:CertificateFolder", TooLong + "/in", "cannot be reached: ")]
    [InlineData("Acme:DnsHook", "nothing", "is not there.")]
    [InlineData("Acme:DnsHook", "folder", "is a folder, not a file.")]
    [InlineData("Acme:DnsHook", "dangling", "gone\", which is not there.")]
    [InlineData("Acme:DnsHook", TooLong, "cannot be reached: ")]
    [InlineData("Cluster:Ca", "nothing", "is not there: 'tunnel2-entry cluster init --node e1' makes it.")]
    [InlineData("Cluster:Ca", "folder", "is a folder, not a file.")]
    [InlineData("Cluster:Ca", "loop", "is a symbolic link that leads to itself.")]
    [InlineData("Cluster:Certificate", TooLong, "cannot be reached: ")]
    public void Why_a_file_or_folder_is_missing_is_said(string key, string place, string words)
    {
        // A name that is too long is to the user root what a folder is to others that they may not enter.
        var error = Assert.Single(
            SettingsFixture.Load([.. _others, "Cluster:Listen=127.0.0.1:0", $"{key}={In(place)}"]).Errors,
            error => error.Key == "Tunnel2:" + key);
        Assert.StartsWith($"\"{_folder.FullName}/", error.Message, StringComparison.Ordinal);
        Assert.Contains(words, error.Message, StringComparison.Ordinal);
        Assert.True(place.StartsWith("nothing", StringComparison.Ordinal) || !error.Message.Contains("init", StringComparison.Ordinal));
    }

    [Theory]
    [InlineData("pipe", NoFile)]
    [InlineData("dangling", "gone\", which is not there.")]
    public async Task A_pipe_or_a_link_to_nothing_in_the_place_of_the_settings_is_said(string place, string words)
    {
        await MakePipeAsync();
        var exception = await Task.Run(
            () => Record.Exception(() => new SettingsSource([In(place)], []).Read()), TestContext.Current.CancellationToken)
            .WaitAsync(AsyncCounter.DefaultTimeout, TestContext.Current.CancellationToken);

        Assert.EndsWith(words, Assert.IsType<IOException>(exception).Message, StringComparison.Ordinal);
        Assert.StartsWith(In(place), exception.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void The_place_in_a_settings_file_that_is_no_JSON_is_said_and_no_value_of_it()
    {
        File.WriteAllText(In("file"), "{\r\n  \"Tunnel2\": { \"Domain\": \"secret\" \"Loops\": 2 } }");
        var exception = Assert.Throws<InvalidDataException>(() => new SettingsSource([In("file")], []).Read());
        Assert.Contains(In("file"), exception.Message, StringComparison.Ordinal);
        Assert.EndsWith("It is not JSON: line 2, byte 35.", exception.Message, StringComparison.Ordinal);
        Assert.Null(exception.InnerException);

        File.WriteAllText(In("file"), "[]");
        exception = Assert.Throws<InvalidDataException>(() => new SettingsSource([In("file")], []).Read());
        Assert.Contains(In("file"), exception.Message, StringComparison.Ordinal);
        Assert.Contains("'Array'", exception.Message, StringComparison.Ordinal);
        Assert.Null(exception.InnerException);
    }

    private string In(string name) => Path.Combine(_folder.FullName, name);

    private async Task MakePipeAsync()
    {
        await using var make = ProcessRunner.Start("mkfifo", [In("pipe")]);
        Assert.Equal(0, await make.WaitForExitAsync());
    }
}
