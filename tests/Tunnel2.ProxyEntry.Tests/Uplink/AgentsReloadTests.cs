using System.Text.Json;
using Tunnel2.ProxyEntry.Reload;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.ProxyEntry.Tests.InMemory;
using Tunnel2.ProxyEntry.Uplink;

namespace Tunnel2.ProxyEntry.Tests.Uplink;

/// <summary>The settings' files change while agents are connected.</summary>
public sealed class AgentsReloadTests : IDisposable
{
    private static readonly string _hash = SettingsFixture.HashSetting("secret");
    private static readonly string[] _shop = ["Agents:shop:TokenHash=" + _hash, "Agents:shop:Names=web"];

    private readonly string _folder = Directory.CreateTempSubdirectory("tunnel2-agents-").FullName;
    private readonly RecordedLog<AgentsReload> _log = new();

    [Fact]
    public Task An_agent_that_is_gone_from_the_file_loses_its_session() => RunAsync(async (fixture, reload) =>
    {
        var agent = await fixture.ConnectAsync(AcceptorFixture.Hello(token: "secret"));
        reload.ReloadIfChanged();
        Assert.Empty(_log.Lines);
        Write(
            ("Agents:other:TokenHash", _hash),
            ("Agents:other:Names", "other"),
            ("Agents:third:TokenHash", OtherHash),
            ("Timeouts:Park", "3s"));
        reload.ReloadIfChanged();
        Assert.Equal(["Settings read again: 2 agents may connect, 1 sessions were ended"], _log.Lines.Select(static line => line.Line));
        await agent.DoneAsync();

        // Taken over: the next look finds nothing new.
        reload.ReloadIfChanged();
        Assert.Single(_log.Lines);
    });

    [Fact]
    public Task Settings_with_a_mistake_change_nothing() => RunAsync(async (fixture, reload) =>
    {
        var agent = await fixture.ConnectAsync(AcceptorFixture.Hello(token: "secret"));
        Write(("Agents:shop:TokenHash", "no hash"), ("Timeouts:Park", "3s"));
        reload.ReloadIfChanged();
        var line = Assert.Single(_log.Lines);
        Assert.Equal(2256, line.Id);
        Assert.Contains("Tunnel2:Agents:shop:TokenHash", line.Line, StringComparison.Ordinal);
        File.WriteAllText(FileOf("1"), "{ half");
        reload.ReloadIfChanged();
        Assert.Contains("stay in force: settings: ", _log.Of(2256)[1], StringComparison.Ordinal);
        Assert.False(agent.Serving.IsCompleted);
        Assert.NotNull(fixture.Registry.Current.Find("shop"));
    });

    [Fact]
    public Task A_file_that_went_away_takes_no_agent_along() => RunAsync(async (fixture, reload) =>
    {
        var agent = await fixture.ConnectAsync(AcceptorFixture.Hello(token: "secret"));
        File.Delete(FileOf("1"));
        reload.ReloadIfChanged();
        Assert.Equal(
            [$"The changed settings have a mistake, the previous ones stay in force: {FileOf("1")}: the file is gone"], _log.Of(2256));
        Assert.False(agent.Serving.IsCompleted);

        // An empty list is another thing.
        Write(("Agents:other:TokenHash", _hash));
        reload.ReloadIfChanged();
        await agent.DoneAsync();
    });

    [Fact]
    public Task A_file_that_came_later_is_missed_as_well() => RunAsync(async (fixture, reload) =>
    {
        await fixture.ConnectAsync(AcceptorFixture.Hello(token: "secret"));
        Write("2", ("Agents:other:TokenHash", OtherHash));
        reload.ReloadIfChanged();
        Assert.Equal(["Settings read again: 2 agents may connect, 0 sessions were ended"], _log.Of(2255));
        Assert.NotNull(fixture.Registry.Current.Find("other"));
        File.Delete(FileOf("2"));
        reload.ReloadIfChanged();
        Assert.Contains($"{FileOf("2")}: the file is gone", Assert.Single(_log.Of(2256)), StringComparison.Ordinal);
        Assert.NotNull(fixture.Registry.Current.Find("other"));
    });

    [Fact]
    public Task What_takes_effect_with_the_next_start_is_named() => RunAsync((_, reload) =>
    {
        Write(
            ("Agents:shop:TokenHash", OtherHash),
            ("Agents:shop:Names", "web"),
            ("Timeouts:Park", "3s"),
            ("Public:HttpListen", "127.0.0.1:8080"));
        reload.ReloadIfChanged();
        Assert.Equal(["Tunnel2:Public:HttpListen has changed and takes effect with the next start"], _log.Of(2257));
        Assert.Single(_log.Of(2255));
        Write(("Agents:shop:TokenHash", OtherHash), ("Agents:shop:Names", "web"));
        reload.ReloadIfChanged();

        // Against what the process runs with, not against the reading before.
        Assert.Equal(["Tunnel2:Timeouts:Park has changed and takes effect with the next start"], _log.Of(2257).Skip(1));
        return Task.CompletedTask;
    });

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    private static string OtherHash => SettingsFixture.HashSetting("other");

    private string FileOf(string name) => Path.Combine(_folder, name + ".json");

    private void Write(params (string Key, string Value)[] settings) => Write("1", settings);

    private void Write(string name, params (string Key, string Value)[] settings) => File.WriteAllText(
        FileOf(name),
        JsonSerializer.Serialize(settings.ToDictionary(static setting => "Tunnel2:" + setting.Key, static setting => setting.Value)));

    private Task RunAsync(Func<AcceptorFixture, AgentsReload, Task> body) => AcceptorFixture.RunAsync(
        fixture =>
        {
            Write(("Agents:shop:TokenHash", _hash), ("Agents:shop:Names", "web"), ("Timeouts:Park", "3s"));
            var source = new SettingsSource([FileOf("1"), FileOf("2")], []);
            source.Read();
            return body(fixture, new AgentsReload(source, fixture.Revocation, _log));
        },
        _shop);
}
