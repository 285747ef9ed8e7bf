using Microsoft.Extensions.Configuration;
using Tunnel2.ProxyEntry.Hosting;

namespace Tunnel2.ProxyEntry.Tests.Hosting;

public sealed class HostSettingsSourceTests : IDisposable
{
    private readonly Settings _file = new();
    private readonly Settings _other = new();
    private readonly ConfigurationRoot _host;
    private readonly HostSettingsSource _source;

    public HostSettingsSourceTests()
    {
        _file.Set("Tunnel2:Domain", "file.example");
        _file.Set("Tunnel2:Agents:web:Names", "web");
        _other.Set("Logging:LogLevel:Default", "Debug");
        _host = new ConfigurationRoot([_file, _other]);
        _source = new HostSettingsSource(_host, [KeyValuePair.Create<string, string?>("EntryId", "code"), new("TestMode", "true")]);
    }

    public void Dispose() => _host.Dispose();

    [Fact]
    public void Values_given_in_code_win_and_the_section_gives_the_rest()
    {
        _file.Set("Tunnel2:EntryId", "file");
        var read = _source.Read();
        Assert.Equal(("code", "true", "file.example"), (read["Tunnel2:EntryId"], read["Tunnel2:TestMode"], read["Tunnel2:Domain"]));
        Assert.Null(read["Logging:LogLevel:Default"]);
    }

    [Fact]
    public void What_was_read_does_not_change_later()
    {
        var read = _source.Read();
        _file.Set("Tunnel2:Domain", "later.example");
        _host.Reload();
        Assert.Equal("file.example", read["Tunnel2:Domain"]);
        Assert.Equal("later.example", _source.Read()["Tunnel2:Domain"]);
    }

    [Fact]
    public void A_reload_is_news_until_it_is_taken_over()
    {
        Assert.False(_source.Watch.HaveChanged());
        _host.Reload();
        Assert.True(_source.Watch.HaveChanged());
        Assert.True(_source.Watch.HaveChanged());
        _source.Watch.Accept();
        Assert.False(_source.Watch.HaveChanged());
        _host.Reload();
        Assert.True(_source.Watch.HaveChanged());
    }

    [Fact]
    public void A_source_that_loses_all_its_settings_is_an_accident()
    {
        _source.Read();
        Assert.Null(_source.FindLoss());
        _file.Set("Tunnel2:Agents:web:Names", "other");
        Assert.Null(_source.FindLoss());
        _other.Set("Tunnel2:LiveQuery", "true");
        _source.Accept();

        _file.Empty();
        Assert.Contains("has no setting", _source.FindLoss()!.Reason, StringComparison.Ordinal);
        _file.Set("Tunnel2:Domain", "back.example");
        Assert.Null(_source.FindLoss());
    }

    [Fact]
    public void What_a_reload_leaves_as_it_is_is_kept_from_the_first_reading()
    {
        Assert.Null(_source.FirstRead);
        _source.Read();
        _file.Set("Tunnel2:Domain", "later.example");
        _source.Read();
        Assert.Equal("file.example", _source.FirstRead!["Domain"]);
        Assert.DoesNotContain("Agents:web:Names", _source.FirstRead.Keys);
    }

    private sealed class Settings : ConfigurationProvider
    {
        /// <summary>What a file that is gone or broken leaves.</summary>
        public void Empty() => Data.Clear();
    }
}
